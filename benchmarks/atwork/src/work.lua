-- Loops with numbers, strings, tables, closures and recursion, for ever.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end

local function words()
  local seen, order = {}, {}
  for i = 0, 2000 do seen[string.format("%x-%d", i * 7919 % 10007, i)] = i end
  for w in pairs(seen) do order[#order + 1] = w end
  table.sort(order, function(a, b) return a:reverse() < b:reverse() end)
  local n = 0
  for _, w in ipairs(order) do
    if w:find("a+.*9") then n = n + #w:gsub("[0-4]", "<%0>") end
  end
  return n
end

local function sieve(n)
  local is, count = {}, 0
  for i = 2, n do is[i] = true end
  for i = 2, n do
    if is[i] then
      count = count + 1
      for j = i * i, n, i do is[j] = false end
    end
  end
  return count
end

local sink = 0
while true do
  local x = 1.5
  for i = 1, 100000 do x = x * 0.9999 + math.sin(x) end
  sink = (sink + words() + sieve(50000) + fib(20) + math.floor(x)) % 1000003
end

-- SPDX-License-Identifier: Apache-2.0
