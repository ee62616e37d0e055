(* A balanced map, strings, closures, exceptions, recursion that is less deep than --max-depth, floats, for ever. *)
module M = Map.Make (String)

let words round =
  let m = ref M.empty in
  for i = 0 to 2000 do
    let key = Printf.sprintf "%x-%d" (i * 7919 mod 10007) (round land 15) in
    m := M.add key i !m
  done;
  M.fold (fun k v n -> n + String.length k + v) !m 0

let rec depth n = if n = 0 then 0 else 1 + depth (n - 1)

let rec loop n x = if n = 0 then x else loop (n - 1) (x *. 1.0000001 +. sin x)

exception Found of int

let search l = try List.iter (fun x -> if x mod 1777 = 3 then raise (Found x)) l; 0 with Found x -> x

let () =
  let sink = ref 0 in
  let round = ref 0 in
  while true do
    incr round;
    let l = List.init 300 (fun i -> i * 7919 mod 10007) in
    let s = List.sort compare (List.map (fun x -> x + !round) l) in
    sink := !sink + words !round + depth 500 + search s + int_of_float (loop 20000 1.5);
    Hashtbl.hash !sink |> ignore
  done

(* SPDX-License-Identifier: Apache-2.0 *)
