# Threads that wait, each named after what it waits for and, behind a colon, after the thread that it waits for. The
# first one waits for the thread joined.
require 'monitor'
require 'timeout'
$stdout.sync = true
def start(name)
  Thread.new { Thread.current.name = name; yield }
end

def hold(lock, name)
  held = Queue.new
  start(name) { lock.enter if lock.is_a?(Monitor); lock.lock if lock.is_a?(Mutex); held << 1; loop { sleep 1000 } }
  held.pop
  lock
end

mutex, monitor, in_fiber = hold(Mutex.new, 'holds'), hold(Monitor.new, 'enters'), Mutex.new
held = Queue.new
start('fiber') { Fiber.new { in_fiber.lock; Fiber.yield }.tap(&:resume).then { |f| held << 1; sleep 1000; f.resume } }
held.pop
start('mutex:holds') { mutex.lock }
start('mutex:holds') { mutex.synchronize {} }
start('mutex:fiber') { in_fiber.lock }
start('monitor:enters') { monitor.synchronize {} }
joined = start('joined') { loop { sleep 1000 } }
start('join:joined') { joined.join }
start('join:joined') { joined.value }
start('queue:') { Queue.new.pop }
start('sized:') { q = SizedQueue.new(1); 2.times { q << 1 } }
start('cond:') { m = Mutex.new; m.synchronize { ConditionVariable.new.wait(m) } }
start('sleep:') { sleep }
start('sleep:') { m = Mutex.new; m.synchronize { m.sleep } }
class Jobs < Queue
  def poll; sleep; end
end
start('sleep:') { Jobs.new.poll }
a, b, first, go = Mutex.new, Mutex.new, Queue.new, Array.new(4) { Queue.new }
start('mutex:dead2') { Thread.current.name = 'dead1'; a.lock; first << 1; go[0].pop; Timeout.timeout(nil) { b.lock } }
start('mutex:dead1') { Thread.current.name = 'dead2'; b.lock; first << 1; go[1].pop; a.lock }
c, d = Mutex.new, Mutex.new
start('mutex:timed2') do
  Thread.current.name = 'timed1'; c.lock; first << 1; go[2].pop; Timeout.timeout(10_000) { [1].each { d.lock } }
end
start('mutex:timed1') { Thread.current.name = 'timed2'; d.lock; first << 1; go[3].pop; c.lock }
4.times { first.pop }
go.each { |q| q << 1 }
sleep 0.01 until Thread.list.count { |t| t.status == 'run' } == 1
puts 'ready'
joined.join
