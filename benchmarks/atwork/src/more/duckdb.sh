# PyPI: duckdb
exec python3 -c 'import duckdb
c = duckdb.connect()
c.execute("set threads=2")
c.execute("create table t as select range a, hash(range) % 1000 b, (range * 7)::varchar s from range(2000000)")
while True:
    c.execute("select b, count(*), max(s), avg(a) from t group by b order by 2, 1").fetchall()
    c.execute("select count(*) from t x join t y on x.a = y.b").fetchall()'

# SPDX-License-Identifier: Apache-2.0
