# Threads that wait in all kinds of calls. Each writes Ruby's own backtrace of itself: label and line of each frame, the
# innermost first.
require 'json'
require 'ripper'
require 'stringio'
$stdout.sync = true
ALL = {}
LOCK = Mutex.new

def stay
  list = caller_locations(0)
  LOCK.synchronize { ALL[Thread.current.name] = list.map { |l| [l.label, l.path, l.lineno] } }
  sleep
end

module Mixed
  def mixed(&b)
    [1].each { |x| inner(x, &b) }
  end

  def inner(_x)
    yield
  end

  def self.own
    stay
  end
end

class Base
  include Mixed
  include Comparable
  class << self
    def made
      new.send(:hidden)
    end
  end

  def <=>(_other)
    stay
    0
  end

  def method_missing(name, *args)
    name == :absent ? stay : super
  end

  def respond_to_missing?(*)
    true
  end

  define_method(:defined) { |x = 1| [x].map { |y| stay } }

  def ensured
    begin
      1
    ensure
      stay
    end
  end

  def rescued
    raise 'x'
  rescue StandardError => e
    e.tap { stay }
  end

  private

  def hidden
    { 1 => 2 }.each_pair { |k, v| stay }
  end
end

class Derived < Base
  def <=>(other)
    super
  end
end

# An extension written in C calls it.
class Parser < Ripper
  def on_int(_)
    stay
  end
end

OUTER = 3
def closure
  x = 1
  -> { x += 1; stay }
end

def deep(n)
  return stay if n == 0

  deep(n - 1)
end

CASES = {
  'plain' => -> { stay },
  'mixed' => -> { Base.new.mixed { stay } },
  'own' => -> { Mixed.own },
  'made' => -> { Base.made },
  'compare' => -> { [Derived.new, Derived.new].max },
  'clamp' => -> { Derived.new.clamp(Derived.new, Derived.new) },
  'missing' => -> { Base.new.absent(1) },
  'defined' => -> { Base.new.defined },
  'ensured' => -> { Base.new.ensured },
  'rescued' => -> { Base.new.rescued },
  'closure' => -> { closure.call },
  'deep' => -> { deep(150) },
  'fiber' => -> { Fiber.new { [1].each { stay } }.resume },
  'enum' => -> { Enumerator.new { |y| y << 1; stay }.each { |x| x } },
  'lazy' => -> { (1..3).lazy.map { |x| stay }.first },
  'next' => -> { e = Enumerator.new { |y| stay }; e.next },
  'eval' => -> { eval("[1].each { stay }", binding, 'a file', 77) },
  'instance' => -> { Base.new.instance_eval { hidden } },
  'class' => -> { Class.new(Base) { stay } },
  'struct' => -> { Struct.new(:a) { def go; stay; end }.new(1).go },
  'single' => -> { o = Object.new; def o.go; stay; end; o.go },
  'hash' => -> { Hash.new { |h, k| stay }[1] },
  'times' => -> { 2.times { stay } },
  'catch' => -> { catch(:x) { stay } },
  'symbol' => -> { [Base].map(&:made) },
  'method' => -> { [1].each(&Base.new.method(:defined)) },
  'gsub' => -> { 'ab'.gsub(/a/) { stay } },
  'curry' => -> { ->(a, b) { stay }.curry[1][2] },
  'extension' => -> { StringIO.new("a\nb").each_line { stay } },
  'parser' => -> { Parser.new('1').parse },
  'sort' => -> { [3, 1].sort { |a, b| stay } },
  'once' => -> { at = ObjectSpace.each_object(Class).first; at.instance_exec { stay } }
}
CASES.each { |name, c| Thread.new { Thread.current.name = name; c.call } }
sleep 0.01 until LOCK.synchronize { ALL.size == CASES.size }
sleep 0.1
puts JSON.generate(ALL)
sleep
