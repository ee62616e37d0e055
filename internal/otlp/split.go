// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"prywalk/internal/protobuf"
)

// ErrSinglePoint means that the message has one point.
var ErrSinglePoint = errors.New("a message of one sample cannot be divided")

func errDamaged(what string) error { return fmt.Errorf("not a message of profiles: %s", what) }

// part has the indices of a sample's resource, scope and profile.
type part struct {
	resource, scope, profile int
	sample                   []byte
}

type source struct {
	resources []sourceResource
	tables    [tableStacks + 1][][]byte
	parts     []part
	size      int // of the samples, bytes
}

type sourceResource struct {
	rest   []byte // without scopes
	scopes []sourceScope
}

type sourceScope struct {
	rest     []byte   // without profiles
	profiles [][]byte // without samples
}

// Split divides a ProfilesData into two with about half of the samples each; a single sample by its points. Divided
// profiles get new ids.
func Split(message []byte) (a, b protobuf.Message, err error) {
	s, err := decode(message)
	if err != nil {
		return nil, nil, err
	}
	if len(s.parts) == 1 {
		if err := s.splitPoints(); err != nil {
			return nil, nil, err
		}
	}
	if len(s.parts) == 0 {
		return nil, nil, ErrSinglePoint
	}
	half, sum := 1, len(s.parts[0].sample)
	for half < len(s.parts)-1 && sum+len(s.parts[half].sample) <= s.size/2 {
		sum += len(s.parts[half].sample)
		half++
	}
	if a, err = s.write(s.parts[:half], 'a'); err != nil {
		return nil, nil, err
	}
	b, err = s.write(s.parts[half:], 'b')
	return a, b, err
}

// Points counts the values of a message's samples.
func Points(message []byte) (n int, err error) {
	s, err := decode(message)
	if err != nil {
		return 0, err
	}
	for _, p := range s.parts {
		values, _, _, err := points(p.sample)
		if err != nil {
			return 0, err
		}
		n += len(values)
	}
	return n, nil
}

func decode(message []byte) (*source, error) {
	s := &source{}
	err := fields(message, func(f protobuf.Field) error {
		switch f.Number {
		case 1:
			return s.resource(f.Body)
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

func (s *source) resource(m []byte) error {
	var r sourceResource
	err := fields(m, func(f protobuf.Field) error {
		if f.Number != 2 {
			r.rest = append(r.rest, f.Raw...)
			return nil
		}
		var scope sourceScope
		err := fields(f.Body, func(f protobuf.Field) error {
			if f.Number != 2 {
				scope.rest = append(scope.rest, f.Raw...)
				return nil
			}
			var rest []byte
			err := fields(f.Body, func(f protobuf.Field) error {
				if f.Number != 2 {
					rest = append(rest, f.Raw...)
					return nil
				}
				s.parts = append(s.parts, part{len(s.resources), len(r.scopes), len(scope.profiles), f.Body})
				s.size += len(f.Body)
				return nil
			})
			scope.profiles = append(scope.profiles, rest)
			return err
		})
		r.scopes = append(r.scopes, scope)
		return err
	})
	s.resources = append(s.resources, r)
	return err
}

func (s *source) splitPoints() error {
	one := s.parts[0]
	values, times, rest, err := points(one.sample)
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
	s.parts = []part{one, one}
	s.parts[0].sample, s.parts[1].sample = first, second
	s.size = len(first) + len(second)
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

func (s *source) write(parts []part, half byte) (m protobuf.Message, err error) {
	w := &rewriter{source: s, out: NewDictionary(nil)}
	for len(parts) > 0 {
		r := parts[0].resource
		resource := s.resources[r]
		out := slices.Clone(protobuf.Message(resource.rest))
		for len(parts) > 0 && parts[0].resource == r {
			sc := parts[0].scope
			scope := slices.Clone(protobuf.Message(resource.scopes[sc].rest))
			for len(parts) > 0 && parts[0].resource == r && parts[0].scope == sc {
				n := 0
				for n < len(parts) && parts[n].resource == r && parts[n].scope == sc && parts[n].profile == parts[0].profile {
					n++
				}
				scope.Bytes(2, w.profile(resource.scopes[sc].profiles[parts[0].profile], parts[:n], half))
				parts = parts[n:]
			}
			out.Bytes(2, scope)
		}
		m.Bytes(1, out)
	}
	m.Bytes(2, w.out.Message())
	return m, w.err
}

func (w *rewriter) profile(rest []byte, parts []part, half byte) (m protobuf.Message) {
	var id []byte
	var others protobuf.Message
	w.check(fields(rest, func(f protobuf.Field) error {
		if f.Number == 7 {
			id = f.Body
		} else {
			others = append(others, f.Raw...)
		}
		return nil
	}))
	m = w.message(others, profileRefs)
	for _, p := range parts {
		m.Bytes(2, w.message(p.sample, sampleRefs))
	}
	if len(id) > 0 {
		sum := sha256.Sum256(append(append([]byte(nil), id...), half))
		m.Bytes(7, sum[:16])
	}
	return m
}
