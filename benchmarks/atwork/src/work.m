% Matrices, strings, cells, structures and the parser, for ever.
x = 0;
while true
  a = rand (120);
  [q, r] = qr (a);
  s = svd (a);
  x += sum (s) + trace (q * r) + sum (abs (fft (a(:))))(1);
  c = strsplit (sprintf ("%d,", 1:400), ",");
  n = cellfun (@numel, c);
  t = regexprep (strjoin (c, "-"), "[0-4]", "<$0>");
  p = struct ("k", num2cell (1:50));
  for i = 1:200
    x += mod (i * 7919, 1009) + p(mod (i, 50) + 1).k;
  endfor
  x = mod (x + sum (n) + numel (t) + eval ("sum (primes (500))"), 1000003);
endwhile

% SPDX-License-Identifier: Apache-2.0
