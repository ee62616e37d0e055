// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"
	"slices"

	"prywalk/internal/base/protobuf"
)

// Samples are a resource's samples; those of equal stack, link and attributes are joined. A point P has a value of each
// profile.
type Samples[P any] struct {
	list   []sample[P]
	places map[string]int
}

type sample[P any] struct {
	stack, link int64
	attributes  []int64
	points      []P
}

// Add adds points. stack, link (or 0) and attributes are the dictionary's numbers.
func (l *Samples[P]) Add(stack, link int64, attributes []int64, points ...P) {
	key := fmt.Sprint(stack, link, attributes)
	i, ok := l.places[key]
	if ok {
		l.list[i].points = append(l.list[i].points, points...)
		return
	}
	if l.places == nil {
		l.places = map[string]int{}
	}
	l.places[key] = len(l.list)
	l.list = append(l.list, sample[P]{stack, link, attributes, slices.Clip(points)})
}

// Profile returns the profile of a sample type from a time, or nil if all values are 0. of returns a point's value
// and, if isTimed, its time. Times are in nanoseconds of Unix time. A sample with an untimed value is summed up.
func (l *Samples[P]) Profile(d *Dictionary, typ, unit string, from uint64, length int64,
	of func(P) (value int64, time uint64, isTimed bool),
) (m protobuf.Message) {
	for _, s := range l.list {
		var values []int64
		var times []uint64
		sum := int64(0)
		for _, p := range s.points {
			value, time, isTimed := of(p)
			if value == 0 {
				continue
			}
			if isTimed {
				times = append(times, time)
			}
			values = append(values, value)
			sum += value
		}
		if len(values) == 0 {
			continue
		}
		if len(times) != len(values) {
			times, values = nil, []int64{sum}
		}
		var n protobuf.Message
		n.Int(1, s.stack)
		n.Ints(2, s.attributes)
		n.Int(3, s.link)
		n.Ints(4, values)
		n.Fixeds(5, times)
		m.Bytes(2, n)
	}
	if len(m) == 0 {
		return nil
	}
	m.Bytes(1, d.ValueType(typ, unit)) // not before: strings without a use are against the rules of the dictionary
	m.Fixed(3, from)
	m.Int(4, length)
	return m
}

// Resource returns a ResourceProfiles. about is a Resource; version may be "".
func Resource(about protobuf.Message, version string, profiles []protobuf.Message) (m protobuf.Message) {
	var producer, scope protobuf.Message
	if producer.Bytes(1, []byte("prywalk")); version != "" {
		producer.Bytes(2, []byte(version))
	}
	scope.Bytes(1, producer)
	for _, p := range profiles {
		scope.Bytes(2, p)
	}
	m.Bytes(1, about)
	m.Bytes(2, scope)
	return m
}
