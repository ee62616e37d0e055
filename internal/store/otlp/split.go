// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"prywalk/internal/base/protobuf"
)

// ErrSinglePoint means that the message has one point, or none.
var ErrSinglePoint = errors.New("a message of one sample cannot be divided")

func errDamaged(what string) error { return fmt.Errorf("not a message of profiles: %s", what) }

type source struct {
	resources []*node
	samples   []*node
	tables    [tableStacks + 1][][]byte
}

// node is a resource, scope, profile or sample. Its children are in field 2.
type node struct {
	parent   *node
	fields   []byte // without children
	children []*node
	second   bool // of a sample: it goes to the second message
}

const (
	levelResource = iota
	levelScope
	levelProfile
	levelSample
)

// Split divides a ProfilesData into two with about half of the samples' bytes each; a single sample by its points.
// Divided profiles get new ids.
func Split(message []byte) (a, b protobuf.Message, err error) {
	s, err := decode(message)
	if err == nil && len(s.samples) == 1 {
		err = s.splitPoints()
	}
	if err == nil && len(s.samples) == 0 {
		err = ErrSinglePoint
	}
	if err != nil {
		return nil, nil, err
	}
	s.halve()
	if a, err = s.write(false); err != nil {
		return nil, nil, err
	}
	b, err = s.write(true)
	return a, b, err
}

// halve puts the first samples, up to half of all bytes, into the first message. Both get at least one.
func (s *source) halve() {
	size := 0
	for _, n := range s.samples {
		size += len(n.fields)
	}
	sum := 0
	for i, n := range s.samples {
		sum += len(n.fields)
		n.second = i > 0 && (sum > size/2 || i == len(s.samples)-1)
	}
}

// Points counts the values of a message's samples.
func Points(message []byte) (n int, err error) {
	s, err := decode(message)
	if err != nil {
		return 0, err
	}
	for _, p := range s.samples {
		values, _, _, err := points(p.fields)
		if err != nil {
			return 0, err
		}
		n += len(values)
	}
	return n, nil
}

// Profiles counts a message's profiles.
func Profiles(message []byte) (n int, err error) {
	s, err := decode(message)
	if err != nil {
		return 0, err
	}
	for _, resource := range s.resources {
		for _, scope := range resource.children {
			n += len(scope.children)
		}
	}
	return n, nil
}

func decode(message []byte) (*source, error) {
	s := &source{}
	err := fields(message, func(f protobuf.Field) error {
		switch f.Number {
		case 1:
			r, err := s.node(f.Body, nil, levelResource)
			s.resources = append(s.resources, r)
			return err
		case 2:
			return fields(f.Body, func(e protobuf.Field) error {
				if e.Number < 1 || e.Number > tableStacks || e.Wire != protobuf.Bytes {
					return errDamaged("an unknown table")
				}
				s.tables[e.Number] = append(s.tables[e.Number], e.Body)
				return nil
			})
		}
		return nil
	})
	return s, err
}

func (s *source) node(m []byte, parent *node, level int) (*node, error) {
	n := &node{parent: parent}
	if level == levelSample {
		n.fields = m
		s.samples = append(s.samples, n)
		return n, nil
	}
	err := fields(m, func(f protobuf.Field) error {
		if f.Number != 2 {
			n.fields = append(n.fields, f.Raw...)
			return nil
		}
		child, err := s.node(f.Body, n, level+1)
		n.children = append(n.children, child)
		return err
	})
	return n, err
}

func (s *source) splitPoints() error {
	one := s.samples[0]
	values, times, rest, err := points(one.fields)
	if err != nil {
		return err
	}
	half := len(values) / 2
	if half == 0 {
		return ErrSinglePoint
	}
	first, second := slices.Clone(protobuf.Message(rest)), slices.Clone(protobuf.Message(rest))
	first.Ints(4, values[:half])
	second.Ints(4, values[half:])
	if len(times) == len(values) {
		first.Fixeds(5, times[:half])
		second.Fixeds(5, times[half:])
	}
	s.samples = []*node{{parent: one.parent, fields: first}, {parent: one.parent, fields: second}}
	one.parent.children = s.samples
	return nil
}

func points(sample []byte) (values []int64, times []uint64, rest []byte, err error) {
	err = fields(sample, func(f protobuf.Field) error {
		switch f.Number {
		case 4:
			return numbers(&f, func(v uint64) { values = append(values, int64(v)) })
		case 5:
			if f.Wire != protobuf.Bytes || len(f.Body)%8 != 0 {
				return errDamaged("times")
			}
			for b := f.Body; len(b) > 0; b = b[8:] {
				times = append(times, binary.LittleEndian.Uint64(b))
			}
			return nil
		}
		rest = append(rest, f.Raw...)
		return nil
	})
	return values, times, rest, err
}

func (s *source) write(second bool) (m protobuf.Message, err error) {
	w := &rewriter{source: s, out: NewDictionary(nil), second: second}
	for _, r := range s.resources {
		if out := w.node(r, levelResource); out != nil {
			m.Bytes(1, out)
		}
	}
	m.Bytes(2, w.out.Message())
	return m, w.err
}

// node returns nil if the message gets no sample of it.
func (w *rewriter) node(n *node, level int) (m protobuf.Message) {
	for _, child := range n.children {
		if level == levelProfile {
			if child.second == w.second {
				m.Bytes(2, w.message(child.fields, sampleRefs))
			}
		} else if out := w.node(child, level+1); out != nil {
			m.Bytes(2, out)
		}
	}
	switch {
	case m == nil:
		return nil
	case level == levelProfile:
		return append(m, w.profileFields(n.fields)...)
	}
	return append(m, n.fields...)
}

// profileFields gives the profile a new id, another one in each message.
func (w *rewriter) profileFields(rest []byte) (m protobuf.Message) {
	var others, id []byte
	w.check(fields(rest, func(f protobuf.Field) error {
		if f.Number == 7 {
			id = f.Body
		} else {
			others = append(others, f.Raw...)
		}
		return nil
	}))
	m = w.message(others, profileRefs)
	if len(id) > 0 {
		sum := sha256.Sum256(strconv.AppendBool(bytes.Clone(id), w.second))
		m.Bytes(7, sum[:16])
	}
	return m
}
