CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200000)
INSERT INTO t SELECT x, x * 7919 % 104729, hex(x * 31) || '-' || (x % 97) FROM c;
CREATE INDEX i ON t(a, b);
SELECT count(*), sum(length(b)) FROM t WHERE b LIKE '%33%-1%';
SELECT b, count(*) FROM t GROUP BY substr(b, 1, 3) ORDER BY 2 DESC LIMIT 3;
SELECT count(*) FROM t x JOIN t y ON y.a = x.a + 1 WHERE x.id % 3 = 0;
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY a % 100 ORDER BY b) AS n FROM t);

-- SPDX-License-Identifier: Apache-2.0
