// SPDX-License-Identifier: Apache-2.0

package profile

import "encoding/binary"

// cost is about how much memory a profile takes when it is decoded, in bytes: never much less. Two bytes of a file can
// become an entry of some hundred.
type cost struct {
	slim int64 // as Read decodes it
	full int64 // as the library does, with stacks and labels for each sample
	left int   // entries until it is too many
	ok   bool  // it is protocol buffer messages from beginning to end

	samples, strings int
}

// What entries take, in bytes, with the garbage of the lists that grew for them. Measured by TestCostsAreNotLess.
const (
	entryCost   = 320 // a location, function, mapping or type
	sampleCost  = 240
	packedCost  = 24   // a number in a list of a sample
	singleCost  = 72   // one that comes by itself
	commentCost = 160  // a comment's number
	lineCost    = 240  // a line of a location
	stringCost  = 144  // beside the bytes
	labelCost   = 512  // a map of labels, and each eight more
	textCost    = 64   // a text in it
	labelsCost  = 1500 // the maps of a sample's labels
	textFactor  = 64   // of the old text formats, for each byte
)

// costOf estimates.
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

// top adds a field of the profile itself.
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

// sample adds the fields of a sample.
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

// nested counts the fields of a message that are messages.
func (c *cost) nested(body []byte) (n int) {
	c.each(body, func(f field) {
		if f.wire == wireBytes {
			n++
		}
	})
	return n
}

// each calls do for the fields of a message, as far as they can be read.
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

// varints counts the numbers in a packed list.
func varints(b []byte) (n int) {
	for _, x := range b {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// Fields of Sample (profile.proto), and of Label.
const (
	sampleLocations = 1
	sampleValues    = 2
	sampleLabel     = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4
)

// field is a field of a message.
type field struct {
	number int
	wire   int
	value  uint64 // of a varint
	body   []byte // of a string, message or packed list
	raw    []byte // all of it, with its tag
}

// nextField splits the first field off a message, as the library's decoder would.
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
	case wireFixed64, wireFixed32: // profiles have none
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
