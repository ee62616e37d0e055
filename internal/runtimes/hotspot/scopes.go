package hotspot

// call is one method of a place in compiled code, and the index of its bytecode; −1: before the first.
type call struct {
	method uint64
	bci    int32
}

// maxInlined bounds the methods that are inlined into one another at one place.
const maxInlined = 256

// invocation is what bytecode indices are written from (InvocationEntryBci).
const invocation = -1

// chain appends the methods of a place, the innermost inlined one first (ScopeDesc::decode_body: the sender's place,
// the method's place in the list, the bytecode's index). The outermost one must be the method that was compiled: that
// proves that the data is what it is taken for.
func (n *Names) chain(c *compiled, scope uint32, out []call) ([]call, bool) {
	if c.scopes.size() > maxScopes || c.metas.size() > maxScopes {
		return out, false
	}
	for range maxInlined {
		s := stream{b: n.scopeBytes(c, scope), least: n.l.least}
		sender, index, bci := s.number(), s.number(), int32(s.number())+invocation
		if s.failed || index == 0 || 8*uint64(index) > c.metas.size() {
			return out, false
		}
		m := n.v.memory()
		method := m.word(c.metas.low + 8*uint64(index-1))
		if m.failed {
			return out, false
		}
		out = append(out, call{method, bci})
		if sender == 0 {
			return out, method == c.method
		}
		if sender >= scope { // a sender is written before what it calls
			return out, false
		}
		scope = sender
	}
	return out, false
}

// scopeBytes gives the three numbers that a scope begins with. They are there until it is called again.
func (n *Names) scopeBytes(c *compiled, scope uint32) []byte {
	left := c.scopes.size() - min(uint64(scope), c.scopes.size())
	b := n.scope[:min(left, uint64(len(n.scope)))]
	if scope == 0 || !n.v.memory().bytes(c.scopes.low+uint64(scope), b) {
		return nil
	}
	return b
}

// HotSpot keeps numbers of debugging information in 1 to 5 bytes, the low ones first (compressedStream.cpp,
// utilities/unsigned5.hpp). A byte below a limit ends a number. The limit leaves 64 codes for bytes that go on, each
// with 6 bits. Since JDK 20 the byte 0 is in no number, so that all others count from 1.
const (
	moreBits  = 6
	moreCodes = 1 << moreBits
	maxBytes5 = 5
)

// stream reads such numbers out of memory that was copied. After a number that does not end it has failed, and gives 0.
type stream struct {
	b      []byte
	least  byte // the smallest byte in a number
	failed bool
}

// byte reads one byte.
func (s *stream) byte() byte {
	if len(s.b) == 0 {
		s.failed = true
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

// number reads an unsigned number.
func (s *stream) number() uint32 {
	limit := uint32(256 - moreCodes - int(s.least))
	sum := uint32(0)
	for i := range maxBytes5 {
		c := s.byte()
		if c < s.least {
			s.failed = true
		}
		if s.failed {
			return 0
		}
		v := uint32(c - s.least)
		sum += v << (moreBits * i)
		if v < limit {
			break
		}
	}
	return sum
}

// signed reads a number whose lowest bit is its sign.
func (s *stream) signed() int32 {
	v := s.number()
	return int32(v>>1) ^ -int32(v&1)
}
