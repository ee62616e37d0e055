{ Sorting, strings, objects and recursion, for ever. }
program work;
{$mode objfpc}{$H+}
uses SysUtils, Classes;
type
  TNumbers = array of Int64;
var
  list: TStringList;
  numbers: TNumbers;
  i, round: Integer;
  sink: Double;

procedure Quick(var a: TNumbers; l, r: Integer);
var
  i, j: Integer;
  p, t: Int64;
begin
  i := l; j := r; p := a[(l + r) div 2];
  repeat
    while a[i] < p do Inc(i);
    while a[j] > p do Dec(j);
    if i <= j then begin
      t := a[i]; a[i] := a[j]; a[j] := t;
      Inc(i); Dec(j);
    end;
  until i > j;
  if l < j then Quick(a, l, j);
  if i < r then Quick(a, i, r);
end;

function Fib(n: Integer): Int64;
begin
  if n < 2 then Result := n else Result := Fib(n - 1) + Fib(n - 2);
end;

begin
  sink := 0;
  SetLength(numbers, 20000);
  round := 0;
  while True do begin
    Inc(round);
    list := TStringList.Create;
    for i := 0 to 2000 do
      list.Add(IntToHex((i * 7919) mod 10007, 4) + StringReplace(IntToStr(i), '7', 'seven', [rfReplaceAll]));
    list.Sort;
    for i := 0 to High(numbers) do numbers[i] := (Int64(i) * 7919 + round) mod 104729;
    Quick(numbers, 0, High(numbers));
    sink := sink + list.Count + Fib(18) + Sin(sink) + Exp(-round);
    list.Free;
  end;
end.

// SPDX-License-Identifier: Apache-2.0
