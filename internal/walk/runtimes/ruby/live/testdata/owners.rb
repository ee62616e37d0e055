# Four threads pass a lock on. Each writes down its number, and that of the acquisition, while it has the lock: a Mutex,
# a Monitor, or a Mutex that a fiber has while its thread runs another one.
require 'monitor'
$stdout.sync = true
B = ([0] * 64).pack('C*')
puts [B].pack('p').unpack1('Q')
kind = ARGV[0]
lock = kind == 'monitor' ? Monitor.new : Mutex.new
n = 0
hold = lambda do |i, work|
  lock.synchronize do
    n += 1
    B[0, 16] = [n, i].pack('Q2')
    work.call
    B[8, 8] = [0].pack('Q')
  end
end
4.times do |i|
  Thread.new do
    Thread.current.name = "t#{i + 1}"
    k = 0
    loop do
      k += 1
      pause = -> { k % 3 == 0 ? 300.times { k.to_s } : sleep(0.0002 * (k % 5)) }
      if kind == 'fiber'
        f = Fiber.new { hold.call(i + 1, -> { Fiber.yield }) }
        f.resume
        pause.call
        f.resume
      else
        hold.call(i + 1, pause)
      end
    end
  end
end
loop { sleep 1000 }
