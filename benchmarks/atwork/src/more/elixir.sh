# Debian: elixir
export HOME="$PWD"
exec elixir -e 'Stream.repeatedly(fn -> Task.async_stream(1..8, fn i -> Enum.map(1..20000, &(&1*i)) |> Enum.map(&Integer.to_string/1) |> Enum.sort() |> Enum.group_by(&String.length/1) |> map_size() end) |> Enum.to_list() end) |> Stream.run()'

# SPDX-License-Identifier: Apache-2.0
