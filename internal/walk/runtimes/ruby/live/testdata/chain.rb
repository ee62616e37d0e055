# Functions that call each other through C at every second step, and write down which ones run. Each has a depth, and
# writes its number there, and then the depth into byte 0. The program prints the address of each thread's record.
N = 60
DEPTH = (ARGV[1] || 24).to_i
$stdout.sync = true

class Pair
  include Comparable
  def initialize(b, d, f); @b, @d, @f = b, d, f; end
  def <=>(other); @f ? (__send__(@f, @b, @d); @f = nil; 0) : 0; end
end

def run; yield; end

NEXT = (0...N).map { |k| :"f_#{k}" }.freeze
CALLS = [
  '__send__(NEXT[(%d + d * 7) %% N], b, d + 1)',
  '[1].each { __send__(NEXT[(%d + d * 7) %% N], b, d + 1) }',
  '[1].sort_by { |x| __send__(NEXT[(%d + d * 7) %% N], b, d + 1); x }',
  'Hash.new { __send__(NEXT[(%d + d * 7) %% N], b, d + 1); 0 }[1]',
  '[1].map { __send__(NEXT[(%d + d * 7) %% N], b, d + 1) }',
  'x = [Pair.new(b, d + 1, NEXT[(%d + d * 7) %% N]), Pair.new(b, d, nil)]; x.max',
  '"x".gsub(/x/) { __send__(NEXT[(%d + d * 7) %% N], b, d + 1); "y" }',
  'begin; raise "x"; rescue; __send__(NEXT[(%d + d * 7) %% N], b, d + 1); end',
  'run { __send__(NEXT[(%d + d * 7) %% N], b, d + 1) }',
  'catch(:done) { __send__(NEXT[(%d + d * 7) %% N], b, d + 1); throw :done }'
]
source = (0...N).map do |k|
  ["def f_#{k}(b, d)", '  b.setbyte(d, %d); b.setbyte(0, d)' % k, '  if d < DEPTH', '    ' + CALLS[k % CALLS.size] % k,
   '  end', '  b.setbyte(0, d - 1)', 'end', '', '', ''].join("\n")
end
eval(source.join("\n"), TOPLEVEL_BINDING, 'functions.rb', 1)

RECORDS = Array.new(2) { ([0] * 256).pack('C*') }
i = 0
Thread.new { k = 30; loop { GC.compact; GC.start; k += 1 } } if ARGV[0] == 'compact'
addresses = RECORDS.map { |r| [r].pack('p').unpack1('Q') }
case ARGV[0]
when 'spin', 'compact'
  Thread.new { j = 7; loop { __send__(NEXT[(j += 1) % N], RECORDS[1], 1) } }
when 'ractor'
  Warning[:experimental] = false
  Ractor.new do
    own = ([0] * 256).pack('C*')
    Ractor.main << [own].pack('p').unpack1('Q')
    j = 7
    loop { __send__(NEXT[(j += 1) % N], own, 1) }
  end
  addresses[1] = Ractor.receive
end
puts addresses.join(' ')
loop { __send__(NEXT[(i += 1) % N], RECORDS[0], 1) }
