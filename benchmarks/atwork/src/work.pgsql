-- Aggregates, sorting, joins, text and regular expressions; most of the expressions are compiled.
create temporary table t as
	select i, (i * 7919) % 1009 as k, md5(i::text) as s, sqrt(i) * 3 as x from generate_series(1, 60000) i;
analyze t;
select k, count(*), sum(x * 2 + i % 7), max(s) from t where x > 10 and k % 3 <> 1 group by k order by 2 desc, 1;
select count(*) from t a join t b on a.k = b.i where a.x + b.x > 5;
select count(*) from t where s ~ '^[0-9a-f]*(ab|cd)[0-9]+f';
select sum(length(replace(upper(s), 'A', 'xyz'))) from t;
select i, s from t order by s desc, x offset 59000;
drop table t;

-- SPDX-License-Identifier: Apache-2.0
