# Five threads that compute, so that all but one wait for the interpreter's lock, and one that waits for nothing but time.
$stdout.sync = true
Thread.new { Thread.current.name = 'sleeper'; loop { sleep 0.01 } }
5.times { |i| Thread.new { Thread.current.name = "busy #{i}"; n = 0; loop { n += 1 } } }
puts 'ready'
sleep
