package hotspot

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
