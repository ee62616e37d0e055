// SPDX-License-Identifier: Apache-2.0

package hotspot

// Numbers of 1 to 5 bytes, low first (compressedStream.cpp, utilities/unsigned5.hpp). A byte below 192 ends a number;
// others carry 6 bits. Since JDK 20 no byte is 0: all count from 1.
const (
	moreBits  = 6
	moreCodes = 1 << moreBits
	maxBytes5 = 5
)

// stream decodes these numbers, 0 after an incomplete one.
type stream struct {
	b      []byte
	least  byte
	failed bool
}

func (s *stream) byte() byte {
	if len(s.b) == 0 {
		s.failed = true
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

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

// signed decodes a number with its sign in bit 0.
func (s *stream) signed() int32 {
	v := s.number()
	return int32(v>>1) ^ -int32(v&1)
}
