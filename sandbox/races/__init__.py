"""Two or three writers of one state table, played in every order that matters.

`turns` lets one of several threads run at a time, `orders` goes through the orders, `touches` tells which calls to DynamoDB
commute, `ground` is the table and the account they share, the rest are the races themselves.
"""
