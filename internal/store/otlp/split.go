// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"cmp"
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

// samplePath are the fields that lead to the samples of a ProfilesData: resources, scopes, profiles, samples.
var samplePath = []int{1, 2, 2, 2}

const (
	levelResource = iota
	levelScope
	levelProfile
)

// Split divides a ProfilesData into two with about half of the samples' bytes each; a single sample by its points.
// Divided profiles get new ids.
func Split(message []byte) (a, b protobuf.Message, err error) {
	var sizes []int
	first, second := &rewriter{out: NewDictionary(nil)}, &rewriter{out: NewDictionary(nil), second: true}
	err = eachAt(message, samplePath, func(sample []byte) error {
		sizes, first.sample = append(sizes, len(sample)), sample
		return nil
	})
	switch {
	case err != nil:
	case len(sizes) == 0:
		err = ErrSinglePoint
	case len(sizes) == 1:
		first.sample, second.sample, err = splitPoints(first.sample)
	default:
		first.sample, first.inFirst, second.inFirst = nil, half(sizes), half(sizes)
	}
	if err == nil {
		first.tables, err = tablesOf(message)
		second.tables = first.tables
	}
	if err != nil {
		return nil, nil, err
	}
	a, b = first.write(message), second.write(message)
	return a, b, cmp.Or(first.err, second.err)
}

// half returns how many samples, of two or more, are about half of all bytes; both parts get at least one.
func half(sizes []int) (n int) {
	all, sum := 0, sizes[0]
	for _, size := range sizes {
		all += size
	}
	for n = 1; n < len(sizes)-1; n++ {
		if sum += sizes[n]; sum > all/2 {
			break
		}
	}
	return n
}

// eachAt visits the messages at the end of a path of fields.
func eachAt(m []byte, path []int, visit func(m []byte) error) error {
	if len(path) == 0 {
		return visit(m)
	}
	return fields(m, func(f protobuf.Field) error {
		if f.Number != path[0] {
			return nil
		}
		return eachAt(f.Body, path[1:], visit)
	})
}

// Points counts the values of a message's samples.
func Points(message []byte) (n int, err error) {
	err = eachAt(message, samplePath, func(sample []byte) error {
		values, _, _, err := points(sample)
		n += len(values)
		return err
	})
	return n, err
}

// Profiles counts a message's profiles.
func Profiles(message []byte) (n int, err error) {
	err = eachAt(message, samplePath[:levelProfile+1], func([]byte) error { n++; return nil })
	return n, err
}

func tablesOf(message []byte) (tables [tableStacks + 1][][]byte, err error) {
	err = eachAt(message, []int{2}, func(dictionary []byte) error {
		return fields(dictionary, func(e protobuf.Field) error {
			if e.Number < 1 || e.Number > tableStacks || e.Wire != protobuf.Bytes {
				return errDamaged("an unknown table")
			}
			tables[e.Number] = append(tables[e.Number], e.Body)
			return nil
		})
	})
	return tables, err
}

func splitPoints(sample []byte) (first, second protobuf.Message, err error) {
	values, times, rest, err := points(sample)
	n := len(values) / 2
	if err == nil && n == 0 {
		err = ErrSinglePoint
	}
	if err != nil {
		return nil, nil, err
	}
	first, second = slices.Clone(protobuf.Message(rest)), slices.Clone(protobuf.Message(rest))
	first.Ints(4, values[:n])
	second.Ints(4, values[n:])
	if len(times) == len(values) {
		first.Fixeds(5, times[:n])
		second.Fixeds(5, times[n:])
	}
	return first, second, nil
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

func (w *rewriter) write(message []byte) (m protobuf.Message) {
	w.check(eachAt(message, samplePath[:1], func(resource []byte) error {
		if out := w.part(resource, levelResource); out != nil {
			m.Bytes(1, out)
		}
		return w.err
	}))
	m.Bytes(2, w.out.Message())
	return m
}

// part returns nil if the message gets no sample of a resource, scope or profile.
func (w *rewriter) part(m []byte, level int) (out protobuf.Message) {
	var rest []byte
	w.check(fields(m, func(f protobuf.Field) error {
		switch {
		case f.Number != 2:
			rest = append(rest, f.Raw...)
		case level < levelProfile:
			if child := w.part(f.Body, level+1); child != nil {
				out.Bytes(2, child)
			}
		case w.sample != nil:
			out.Bytes(2, w.message(w.sample, sampleRefs))
		default:
			if w.samples++; (w.samples > w.inFirst) == w.second {
				out.Bytes(2, w.message(f.Body, sampleRefs))
			}
		}
		return w.err
	}))
	switch {
	case out == nil:
		return nil
	case level == levelProfile:
		return append(out, w.profileFields(rest)...)
	}
	return append(out, rest...)
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
