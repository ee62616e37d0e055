# Vectors, matrices, text, closures and recursion, for ever.
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
words <- function() {
  w <- sprintf("%x-%d", as.integer((1:2000 * 7919) %% 10007), 1:2000)
  w <- w[order(substring(w, nchar(w)), w)]
  sum(grepl("(a+|b)+.*9", w)) + sum(nchar(gsub("[0-4]", "<>", w))) + length(unlist(strsplit(w, "-")))
}
model <- function() {
  d <- data.frame(x = runif(200), y = runif(200), g = factor(rep(1:4, 50)))
  coef(lm(y ~ x + g, d))[[1]] + sum(tapply(d$y, d$g, mean))
}
repeat {
  s <- words() + fib(14) + model()
  m <- matrix(runif(3600), 60)
  s <- s + sum(solve(m + diag(60) * 60)) + sum(sort(runif(20000)))
  s <- s + Reduce(`+`, Filter(function(x) x %% 3 == 0, Map(function(x) x * 2, 1:3000)))
}

# SPDX-License-Identifier: Apache-2.0
