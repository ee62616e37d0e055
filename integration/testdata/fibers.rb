# Fibers that compute at the bottom of six calls; a new one after ten rounds. It ends after fifteen minutes.
def spin(n)
  x = i = 0
  while i < n
    x = (x * 31 + i) & 0xffffff
    i += 1
  end
  x
end

def level(depth) = depth > 0 ? level(depth - 1) + 1 : spin(30000)

puts "ready"
$stdout.flush
begun = Time.now
while Time.now - begun < 900
  fiber = Fiber.new { 10.times { level(5); Fiber.yield 1 } }
  fiber.resume while fiber.alive?
end
