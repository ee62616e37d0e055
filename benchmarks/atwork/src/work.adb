--  Sorting, maps, strings, tasks' protected data and exceptions, for ever.
with Ada.Containers.Indefinite_Ordered_Maps;
with Ada.Numerics.Long_Elementary_Functions; use Ada.Numerics.Long_Elementary_Functions;
with Ada.Strings.Unbounded; use Ada.Strings.Unbounded;
procedure Work is
   package Maps is new Ada.Containers.Indefinite_Ordered_Maps (String, Integer);
   Wrong : exception;
   Sink  : Long_Float := 0.0;

   function Words (Round : Integer) return Integer is
      Seen : Maps.Map;
      Text : Unbounded_String;
   begin
      for I in 1 .. 2000 loop
         declare
            Key : constant String := Integer'Image ((I * 7919 + Round) mod 10007);
         begin
            Seen.Include (Key, I);
            Append (Text, Key);
         end;
      end loop;
      return Integer (Seen.Length) + Length (Text) + Index (Text, " 777 77");
   end Words;

   function Depth (N : Integer) return Integer is
   begin
      if N = 0 then
         raise Wrong;
      end if;
      return Depth (N - 1) + 1;
   end Depth;

   function Numbers return Long_Float is
      Sum : Long_Float := 0.0;
   begin
      for I in 1 .. 20_000 loop
         Sum := Sum + Sin (Long_Float (I)) * Exp (-Long_Float (I) / 1.0e4) + Sqrt (Long_Float (I));
      end loop;
      return Sum;
   end Numbers;
begin
   for Round in 1 .. Integer'Last loop
      Sink := Sink + Long_Float (Words (Round mod 1000)) + Numbers;
      begin
         Sink := Sink + Long_Float (Depth (50));
      exception
         when Wrong => Sink := 0.0;
      end;
   end loop;
end Work;

-- SPDX-License-Identifier: Apache-2.0
