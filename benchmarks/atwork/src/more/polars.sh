# PyPI: polars
exec python3 -c 'import polars as p
d = p.DataFrame({"a": range(1000000)}).with_columns(b=p.col("a") % 997, s=p.col("a").cast(p.String))
while True:
    d.lazy().group_by("b").agg(p.col("a").sum(), p.col("s").str.len_chars().mean()).sort("a").collect()
    d.sort("s").filter(p.col("s").str.contains("9+1"))'

# SPDX-License-Identifier: Apache-2.0
