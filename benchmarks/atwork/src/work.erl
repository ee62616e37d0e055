%% Lists, maps, binaries, processes and recursion, for ever.
-module(work).
-export([main/0]).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

words() ->
    Seen = maps:from_list([{integer_to_binary(I * 7919 rem 10007, 16), I} || I <- lists:seq(1, 2000)]),
    Order = lists:sort(fun(A, B) -> binary:last(A) =< binary:last(B) end, maps:keys(Seen)),
    lists:sum([case re:run(W, "(A+|B)+.*9") of nomatch -> 0; _ -> byte_size(W) end || W <- Order]).

echo() -> receive {From, N} -> From ! N + 1, echo(); stop -> ok end.

exchange(N) ->
    Pid = spawn(fun echo/0),
    Last = lists:foldl(fun(_, X) -> Pid ! {self(), X}, receive Y -> Y end end, 0, lists:seq(1, N)),
    Pid ! stop,
    Last.

main() -> main(0).
main(Sink) -> main((Sink + fib(18) + words() + exchange(500)) rem 1000003).

% SPDX-License-Identifier: Apache-2.0
