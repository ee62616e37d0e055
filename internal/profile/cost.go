// SPDX-License-Identifier: Apache-2.0

package profile

import "encoding/binary"

// cost is an upper estimate of a decoded profile's memory, in bytes. Two bytes of a file can become several hundred.
type cost struct {
	slim int64 // decoded by Read
	full int64 // decoded by the library
	left int
	ok   bool // well-formed to the end

	samples, strings int
}

// Bytes of entries, with the garbage of growing lists (TestCostsAreNotLess).
const (
	entryCost   = 320
	sampleCost  = 240
	packedCost  = 24 // in a packed list
	singleCost  = 72 // by itself
	commentCost = 160
	lineCost    = 240
	stringCost  = 144 // beside its bytes
	labelCost   = 512 // a map of labels, and each eight more
	textCost    = 64
	labelsCost  = 1500
	textFactor  = 64 // old text formats, per byte
)

func costOf(data []byte) cost {
	c := cost{left: maxMessages, ok: true}
	for len(data) > 0 && c.left >= 0 {
		f, rest, ok := nextField(data)
		if !ok {
			c.ok = false
			break
		}
		c.top(f)
		data = rest
	}
	return c
}

func (c *cost) top(f field) {
	c.left--
	both := func(n int64) {
		c.slim += n
		c.full += n
	}
	switch f.number {
	case fieldString:
		c.strings++
		both(stringCost + int64(len(f.body)))
	case fieldComment:
		both(int64(commentCost * max(1, varints(f.body))))
	case fieldSample:
		c.samples++
		both(sampleCost)
		c.sample(f.body)
	case fieldLocation:
		both(entryCost)
		both(int64(c.nested(f.body)) * lineCost)
	case fieldSampleType, fieldMapping, fieldFunction, fieldPeriodType:
		both(entryCost)
	}
}

func (c *cost) sample(body []byte) {
	labels := int64(0)
	c.each(body, func(f field) {
		n := int64(singleCost + packedCost*varints(f.body))
		switch f.number {
		case sampleLocations:
			c.full += n
		case sampleValues:
			c.slim += n
			c.full += n
		case sampleLabel:
			labels++
		}
	})
	if labels > 0 {
		c.full += labelsCost + labels*labelCost
	}
}

func (c *cost) nested(body []byte) (n int) {
	c.each(body, func(f field) {
		if f.wire == wireBytes {
			n++
		}
	})
	return n
}

// each calls do for the readable fields.
func (c *cost) each(body []byte, do func(field)) {
	for len(body) > 0 && c.left >= 0 {
		f, rest, ok := nextField(body)
		if !ok {
			c.ok = false
			return
		}
		c.left--
		do(f)
		body = rest
	}
}

func varints(b []byte) (n int) {
	for _, x := range b {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// profile.proto: Sample and Label.
const (
	sampleLocations = 1
	sampleValues    = 2
	sampleLabel     = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4
)

type field struct {
	number int
	wire   int
	value  uint64
	body   []byte
	raw    []byte // with its tag
}

// nextField splits off a field, as the library's decoder.
func nextField(data []byte) (f field, rest []byte, ok bool) {
	tag, n := binary.Uvarint(data)
	if n <= 0 || tag>>3 > 1<<29 {
		return f, nil, false
	}
	f.number, f.wire = int(tag>>3), int(tag&7)
	rest = data[n:]
	switch f.wire {
	case wireVarint:
		if f.value, n = binary.Uvarint(rest); n <= 0 {
			return f, nil, false
		}
	case wireBytes:
		size, k := binary.Uvarint(rest)
		if k <= 0 || size > uint64(len(rest)-k) {
			return f, nil, false
		}
		f.body, n = rest[k:k+int(size)], k+int(size)
	case wireFixed64, wireFixed32:
		if n = 8; f.wire == wireFixed32 {
			n = 4
		}
		if len(rest) < n {
			return f, nil, false
		}
	default:
		return f, nil, false
	}
	f.raw = data[:len(data)-len(rest)+n]
	return f, rest[n:], true
}
