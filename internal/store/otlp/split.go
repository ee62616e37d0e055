// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"

	"prywalk/internal/base/protobuf"
)

// ErrSinglePoint means that the message has one point, or none.
var ErrSinglePoint = errors.New("a message of one sample cannot be divided")

func errDamaged(what string) error { return fmt.Errorf("not a message of profiles: %s", what) }

// samplePath are the fields that lead to the samples of a ProfilesData: resources, scopes, profiles, samples.
var samplePath = []int{1, 2, 2, 2}

// Split divides a ProfilesData into two with half of the points each, whatever their bytes. The profiles get new ids.
func Split(message []byte) (a, b protobuf.Message, err error) {
	n, err := Points(message)
	if err == nil && n < 2 {
		err = ErrSinglePoint
	}
	tables, tablesErr := tablesOf(message)
	if err = cmp.Or(err, tablesErr); err != nil {
		return nil, nil, err
	}
	first := &rewriter{tables: tables, out: NewDictionary(nil), to: n / 2}
	second := &rewriter{tables: tables, out: NewDictionary(nil), from: n / 2, to: n}
	a, b = first.write(message), second.write(message)
	return a, b, cmp.Or(first.err, second.err)
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
func Points(message []byte) (n int, err error) { return pointsAt(message, samplePath) }

func pointsAt(m []byte, path []int) (n int, err error) {
	err = eachAt(m, path, func(sample []byte) error {
		values, _, _, err := points(sample)
		n += len(values)
		return err
	})
	return n, err
}

// Profiles counts a message's profiles.
func Profiles(message []byte) (n int, err error) {
	err = eachAt(message, samplePath[:3], func([]byte) error { n++; return nil })
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
