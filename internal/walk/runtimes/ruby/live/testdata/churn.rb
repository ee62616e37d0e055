# Makes methods and blocks without end, and frees them. Each has a number, which the program writes down before it calls
# one.
$stdout.sync = true
B = ([0] * 64).pack('C*')
puts [B].pack('p').unpack1('Q')
n = 0
loop do
  n += 1
  B[0, 8] = [n].pack('Q')
  name = n.odd? ? "outer_#{n}" : "a_method_whose_name_is_too_long_to_be_in_a_string_itself_#{n}"
  code = "def self.#{name}\n s = 0\n 400.times { |i| s += i }\n [2, 1].sort_by { |i|\n 400.times { s += i }\n i }\nend\n#{name}"
  eval(code, TOPLEVEL_BINDING, "<#{n}>", 1)
  singleton_class.send(:remove_method, name)
  GC.start if n % 50 == 0
end
