" Text, regular expressions, sorting and numbers, for ever.
function! Numbers(n)
  return a:n < 2 ? a:n : Numbers(a:n - 1) + Numbers(a:n - 2)
endfunction

function! Words()
  let seen = {}
  for i in range(1500)
    let seen[printf('%x-%d', i * 7919 % 10007, i)] = i
  endfor
  let order = sort(keys(seen), {a, b -> a[-1:] ==# b[-1:] ? (a > b) - (a < b) : (a[-1:] > b[-1:]) - (a[-1:] < b[-1:])})
  return len(filter(copy(order), {_, w -> w =~# '\(a\+\|b\)\+.*9'})) + len(json_decode(json_encode(order)))
endfunction

while 1
  call Words()
  call Numbers(14)
  enew!
  call setline(1, map(range(2000), {_, i -> printf('line %d: %s', i * 7919 % 1009, sha256(string(i)))}))
  %s/\v([a-f]+)([0-9]+)/\2<\1>/ge
  sort n
  g/<a>/normal! ddp
endwhile

" SPDX-License-Identifier: Apache-2.0
