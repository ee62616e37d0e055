# frozen_string_literal: true

# Fibers in known states. Prints for each its frames, [label, line] or [label] of C, then sleeps or, with "busy", runs on
# and resumes them.
require 'json'

$noted = {}

def note(n)
  $noted[n] = caller_locations(1)
end

class Pool
  def take(n)
    Fiber.yield(note(n)) while true
  end

  def nest(depth, n)
    depth.positive? ? nest(depth - 1, n) : take(n)
  end

  def self.of_class(n)
    Fiber.yield(note(n)) while true
  end
end

POOL = Pool.new

def each_one(n)
  [1].each { |_| POOL.take(n) }
end

def run(n)
  case n % 5
  when 0 then POOL.take(n)
  when 1 then POOL.nest(n % 50, n)
  when 2 then each_one(n)
  when 3 then Pool.of_class(n)
  else
    begin
      raise 'x'
    rescue StandardError
      POOL.take(n)
    end
  end
end

count = ARGV[0].to_i
$fibers = Array.new(count) { |i| Fiber.new { run(i) } }
$others = [Fiber.new { 1 }, Fiber.new { 1 }.tap(&:resume)] # not begun, ended
$fibers.each(&:resume)
GC.start
known = $fibers.each_with_index.to_h do |f, n|
  own = f.respond_to?(:backtrace_locations) # from 3.0 on
  stack = (own ? f.backtrace_locations : $noted[n]).map do |l|
    %w[yield each].include?(l.label[/\w+\z/]) ? [l.label] : [l.label, l.lineno]
  end
  [f.inspect[/0x(\h+)/, 1].to_i(16), own ? stack : [['yield']] + stack]
end
puts JSON.dump(known)
$stdout.flush
$fibers.each(&:resume) while ARGV[1]
sleep
