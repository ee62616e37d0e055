// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/budget"
	"prywalk/internal/protobuf"
)

// decoder decodes with little memory: the pprof library takes 2 KB for a sample of 50 bytes. Stacks and labels repeat:
// they are cut out before decoding, and added afterwards, shared and read-only.
type decoder struct {
	memory  *budget.Account
	samples [][]byte
	strings []string

	locations map[uint64]*profile.Location
	stacks    map[string][]*profile.Location
	texts     map[string]map[string][]string
	units     map[string]map[string][]string
	buf       []byte

	ids, text, number []byte
}

// decode decodes data that costOf has accepted.
func decode(data []byte, c *cost, memory *budget.Account) (*profile.Profile, error) {
	s := &decoder{memory: memory, samples: make([][]byte, 0, c.samples), strings: make([]string, 0, c.strings),
		stacks: map[string][]*profile.Location{},
		texts:  map[string]map[string][]string{}, units: map[string]map[string][]string{}}
	p, err := profile.ParseUncompressed(s.stripSamples(data))
	if err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	s.locations = make(map[uint64]*profile.Location, len(p.Location))
	for _, l := range p.Location {
		s.locations[l.ID] = l
	}
	for i, sample := range p.Sample {
		if err := s.addStackAndLabels(sample, s.samples[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (s *decoder) stripSamples(data []byte) []byte {
	out := make(protobuf.Message, 0, len(data))
	for len(data) > 0 {
		f, rest, _ := protobuf.Next(data) // costOf has checked
		data = rest
		switch f.Number {
		case fieldString:
			s.strings = append(s.strings, string(f.Body))
		case fieldSample:
			s.samples = append(s.samples, f.Body)
			s.buf = s.buf[:0]
			for body := f.Body; len(body) > 0; {
				g, rest, _ := protobuf.Next(body)
				if body = rest; g.Number != sampleLocations && g.Number != sampleLabel {
					s.buf = append(s.buf, g.Raw...)
				}
			}
			out.Bytes(fieldSample, s.buf)
			continue
		}
		out = append(out, f.Raw...)
	}
	return out
}

func (s *decoder) addStackAndLabels(sample *profile.Sample, body []byte) error {
	ids, text, number := s.ids[:0], s.text[:0], s.number[:0]
	for len(body) > 0 {
		f, rest, _ := protobuf.Next(body)
		body = rest
		switch {
		case f.Number == sampleLocations && f.Wire == protobuf.Bytes:
			ids = append(ids, f.Body...)
		case f.Number == sampleLocations:
			ids = binary.AppendUvarint(ids, f.Value)
		case f.Number == sampleLabel && isText(f.Body):
			text = append(text, f.Raw...)
		case f.Number == sampleLabel:
			number = append(number, f.Raw...)
		}
	}
	s.ids, s.text, s.number = ids, text, number
	var err error
	if sample.Location, err = s.stack(ids); err != nil {
		return err
	}
	if err := s.textLabels(sample, text); err != nil {
		return err
	}
	return s.numberLabels(sample, number)
}

func errDamaged(what string) error { return fmt.Errorf("a sample with a %s that is not there", what) }

func (s *decoder) stack(ids []byte) ([]*profile.Location, error) {
	if st, ok := s.stacks[string(ids)]; ok {
		return st, nil
	}
	n := varints(ids)
	if err := s.memory.Take(int64(labelCost+len(ids)+8*n), "stacks"); err != nil {
		return nil, err
	}
	st := make([]*profile.Location, 0, n)
	for rest := ids; len(rest) > 0; {
		id, k := binary.Uvarint(rest)
		l := s.locations[id]
		if k <= 0 || l == nil {
			return nil, errDamaged("location")
		}
		st, rest = append(st, l), rest[k:]
	}
	st = slices.Clip(st)
	s.stacks[string(ids)] = st
	return st, nil
}

// label is a Label; its fields are indices of strings.
type label struct{ key, text, number, unit uint64 }

func readLabel(body []byte) (l label) {
	for len(body) > 0 {
		f, rest, err := protobuf.Next(body)
		if err != nil {
			return label{key: ^uint64(0)}
		}
		body = rest
		switch f.Number {
		case labelKey:
			l.key = f.Value
		case labelStr:
			l.text = f.Value
		case labelNum:
			l.number = f.Value
		case labelUnit:
			l.unit = f.Value
		}
	}
	return l
}

func isText(body []byte) bool { return readLabel(body).text != 0 }

func (s *decoder) stringAt(i uint64) (string, error) {
	if i >= uint64(len(s.strings)) {
		return "", errDamaged("string")
	}
	return s.strings[i], nil
}

func (s *decoder) textLabels(sample *profile.Sample, list []byte) error {
	if len(list) == 0 {
		return nil
	}
	m, ok := s.texts[string(list)]
	if ok {
		sample.Label = m
		return nil
	}
	m = map[string][]string{}
	for rest := list; len(rest) > 0; {
		f, more, _ := protobuf.Next(rest)
		rest = more
		n := int64(textCost + len(f.Raw))
		if len(m)%8 == 0 {
			n += labelCost
		}
		if err := s.memory.Take(n, "labels"); err != nil {
			return err
		}
		l := readLabel(f.Body)
		key, err := s.stringAt(l.key)
		if err != nil {
			return err
		}
		value, err := s.stringAt(l.text)
		if err != nil {
			return err
		}
		m[key] = append(m[key], value)
	}
	s.texts[string(list)] = m
	sample.Label = m
	return nil
}

func (s *decoder) numberLabels(sample *profile.Sample, list []byte) error {
	var values map[string][]int64
	s.buf = s.buf[:0] // keys and units, which select the shared map of units
	for rest := list; len(rest) > 0; {
		f, more, _ := protobuf.Next(rest)
		rest = more
		l := readLabel(f.Body)
		key, err := s.stringAt(l.key)
		if err != nil {
			return err
		}
		if l.number == 0 && l.unit == 0 {
			continue
		}
		if values == nil {
			values = map[string][]int64{}
			err = s.memory.Take(labelCost, "labels")
		} else if len(values) >= 8 {
			err = s.memory.Take(labelCost, "labels")
		}
		if err != nil {
			return err
		}
		values[key] = append(values[key], int64(l.number))
		s.buf = binary.AppendUvarint(binary.AppendUvarint(s.buf, l.key), l.unit)
	}
	if values == nil {
		return nil
	}
	sample.NumLabel = values
	units, ok := s.units[string(s.buf)]
	if !ok {
		var err error
		if units, err = s.unitsOf(s.buf); err != nil {
			return err
		}
		s.units[string(s.buf)] = units
	}
	sample.NumUnit = units
	return nil
}

func (s *decoder) unitsOf(list []byte) (map[string][]string, error) {
	out, count := map[string][]string{}, map[string]int{}
	for len(list) > 0 {
		if err := s.memory.Take(labelCost, "labels"); err != nil {
			return nil, err
		}
		k, n := binary.Uvarint(list)
		u, n2 := binary.Uvarint(list[n:])
		list = list[n+n2:]
		key, err := s.stringAt(k)
		if err != nil {
			return nil, err
		}
		unit, err := s.stringAt(u)
		if err != nil {
			return nil, err
		}
		if u != 0 {
			out[key] = append(padTo(out[key], count[key]), unit)
		}
		count[key]++
	}
	for key, units := range out {
		out[key] = padTo(units, count[key])
	}
	return out, nil
}

func padTo(list []string, n int) []string {
	for len(list) < n {
		list = append(list, "")
	}
	return list
}
