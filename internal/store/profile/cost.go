// SPDX-License-Identifier: Apache-2.0

package profile

import "prywalk/internal/base/protobuf"

// cost is an upper estimate of a decoded profile's memory, bytes: two bytes of a file can become several hundred.
type cost struct {
	ownDecoder     int64 // decoded by [Read]
	pprofDecoder   int64 // by the pprof library
	fieldsExceeded bool  // a sample has more than maxSampleFields
	ok             bool

	samples, strings int
}

// Bytes per entry, with garbage of growing lists (TestCostsAreNotLess).
const (
	entryCost          = 320
	sampleCost         = 240
	packedCost         = 24 // in a packed list
	singleCost         = 72 // by itself
	commentCost        = 160
	lineCost           = 240
	stringCost         = 144 // plus its bytes
	labelMapCost       = 512 // per map, and per eight further labels
	textLabelCost      = 64
	labelledSampleCost = 1500
	textFactor         = 64 // per byte of an old text format
)

func costOf(data []byte) cost {
	c := cost{ok: true}
	for f, err := range protobuf.Fields(data) {
		if c.ok = c.ok && err == nil; c.fieldsExceeded {
			break
		}
		c.addField(f)
	}
	return c
}

func (c *cost) addField(f protobuf.Field) {
	both := func(n int64) {
		c.ownDecoder += n
		c.pprofDecoder += n
	}
	switch f.Number {
	case fieldString:
		c.strings++
		both(stringCost + int64(len(f.Body)))
	case fieldComment:
		both(int64(commentCost * max(1, varints(f.Body))))
	case fieldSample:
		c.samples++
		both(sampleCost)
		c.sample(f.Body)
	case fieldLocation:
		both(entryCost)
		both(int64(c.nested(f.Body)) * lineCost)
	case fieldSampleType, fieldMapping, fieldFunction, fieldPeriodType:
		both(entryCost)
	}
}

func (c *cost) sample(body []byte) {
	fields, labels := 0, int64(0)
	for f, err := range protobuf.Fields(body) {
		c.ok = c.ok && err == nil
		fields++
		n := int64(singleCost + packedCost*varints(f.Body))
		switch f.Number {
		case sampleLocations:
			c.pprofDecoder += n
		case sampleValues:
			c.ownDecoder += n
			c.pprofDecoder += n
		case sampleLabel:
			labels++
		}
	}
	c.fieldsExceeded = c.fieldsExceeded || fields > maxSampleFields
	if labels > 0 {
		c.pprofDecoder += labelledSampleCost + labels*labelMapCost
	}
}

func (c *cost) nested(body []byte) (n int) {
	for f, err := range protobuf.Fields(body) {
		if c.ok = c.ok && err == nil; f.Wire == protobuf.Bytes {
			n++
		}
	}
	return n
}

func varints(b []byte) (n int) {
	for _, x := range b {
		if x < 0x80 {
			n++
		}
	}
	return n
}
