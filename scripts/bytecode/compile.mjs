// Compile every .py below a folder to the bytecode of Pyodide's CPython, which is that of every Python 3.13.
//   node compile.mjs PYODIDE_FOLDER VERSION BUILT_FOLDER
import { pathToFileURL } from "node:url";

const [pyodideFolder, version, built] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`));
const python = await loadPyodide();
python.mountNodeFS("/built", built);
python.globals.set("wanted", version);
const isFine = python.runPython(`
import compileall, py_compile, sys
found = "%d.%d" % sys.version_info[:2]
if found != wanted:
    raise SystemExit(f"Pyodide brings Python {found}, and {wanted} is wanted. Nothing was compiled.")
bool(compileall.compile_dir("/built", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH))
`);
process.exit(isFine ? 0 : 1);
