-- Three loops that call a function of libm each: sin at level 0, tan below one callback from C, exp below two.
-- Each has many values alive across the call, so that a trace spills them where frames of other callbacks have been.
local function loop(name)
  local v, first, step = {}, {}, {}
  for i = 1, 24 do
    v[i], first[i] = "v" .. i, tostring(i / 7)
    step[i] = ("v%d = 0.5 * v%d + v%d / 3"):format(i, i, i % 24 + 1)
  end
  local all = table.concat(v, ",")
  return assert(loadstring("local f = math." .. name .. " return function(n) local " .. all .. " = " .. table.concat(first, ",")
    .. " for i = 1, n do v1 = f(v2 + i % 7) " .. table.concat(step, " ") .. " end return v1 end"))()
end

local function callback(f, n)
  local called = false
  table.sort({2, 1}, function(a, b)
    if not called then called = true; f(n) end
    return a < b
  end)
end

local sin, tan, exp = loop("sin"), loop("tan"), loop("exp")
local function one(n) tan(n); coroutine.wrap(function() local x = 0 for i = 1, 200 do x = x + i end end)() end
print("ready")
io.stdout:flush()
while true do
  sin(20000)
  callback(one, 20000)
  callback(function(n) callback(exp, n) end, 20000)
end
