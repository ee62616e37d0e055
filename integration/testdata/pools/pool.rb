# A pool of two connections as connection_pool's, which threads of puma share: a mutex and a condition variable.
MUTEX, RETURNED = Mutex.new, ConditionVariable.new
BEGUN = Queue.new

def render
  BEGUN << 1
  loop {}
end

def ask_bank
  BEGUN << 1
  sleep 3600
end

def borrow
  MUTEX.synchronize do
    BEGUN << 1
    RETURNED.wait(MUTEX, 3600)
  end
end

$stdout.sync = true
5.times { Thread.new { borrow } }
Thread.new { ask_bank }
Thread.new { render }
7.times { BEGUN.pop }
puts "ready"
sleep 3600
