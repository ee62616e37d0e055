// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"prywalk/internal/base/protobuf"
)

// refs are fields that are indices of a table, or messages with such fields.
type refs map[int]ref

type ref struct {
	table int   // of the index, or packed list of indices; 0 means that the field is a message
	in    refs  // of the message
	path  []int // to the message's samples: without a point of theirs it is left out
	// isSample means that the message is a sample, isID that the field is a profile's id.
	isSample, isID bool
}

var (
	lineRefs      = refs{1: {table: tableFunctions}}
	valueTypeRefs = refs{1: {table: tableStrings}, 2: {table: tableStrings}}
	sampleRefs    = refs{1: {table: tableStacks}, 2: {table: tableAttributes}, 3: {table: tableLinks}}
	profileRefs   = refs{1: {in: valueTypeRefs}, 2: {isSample: true}, 5: {in: valueTypeRefs}, 7: {isID: true},
		11: {table: tableAttributes}}
	scopeRefs    = refs{2: {in: profileRefs, path: samplePath[3:]}}
	resourceRefs = refs{2: {in: scopeRefs, path: samplePath[2:]}}
	dataRefs     = refs{1: {in: resourceRefs, path: samplePath[1:]}} // and the dictionary

	// tableRefs refer to tables that are listed after their own here.
	tableRefs = [tableStacks + 1]refs{
		tableStacks:     {1: {table: tableLocations}},
		tableLocations:  {1: {table: tableMappings}, 3: {in: lineRefs}, 4: {table: tableAttributes}},
		tableMappings:   {4: {table: tableStrings}, 5: {table: tableAttributes}},
		tableFunctions:  {1: {table: tableStrings}, 2: {table: tableStrings}, 3: {table: tableStrings}},
		tableAttributes: {1: {table: tableStrings}, 3: {table: tableStrings}},
	}
)

// rewriter writes one of two messages, with the points from one number to another.
type rewriter struct {
	tables   [tableStacks + 1][][]byte
	out      *Dictionary
	newIndex [tableStacks + 1]map[uint64]int64
	from, to int
	at       int // points so far, of both messages
	err      error
}

func (w *rewriter) write(message []byte) protobuf.Message {
	var m protobuf.Message
	w.check(fields(message, func(f protobuf.Field) error {
		if f.Number != 2 { // the dictionary
			m = append(m, w.message(f.Raw, dataRefs)...)
		}
		return w.err
	}))
	m.Bytes(2, w.out.Message())
	return m
}

func (w *rewriter) check(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *rewriter) message(m []byte, indices refs) (out protobuf.Message) {
	w.check(fields(m, func(f protobuf.Field) error {
		r, ok := indices[f.Number]
		switch {
		case !ok:
			out = append(out, f.Raw...)
		case r.isSample:
			w.sample(&out, &f)
		case r.path != nil:
			n, err := pointsAt(f.Body, r.path)
			if w.check(err); n == 0 || w.at+n <= w.from || w.at >= w.to {
				w.at += n
				return w.err
			}
			out.Bytes(f.Number, w.message(f.Body, r.in))
		case r.isID: // a receiver may drop a profile with an id that it has seen
			sum := sha256.Sum256(strconv.AppendBool(bytes.Clone(f.Body), w.from > 0))
			out.Bytes(f.Number, sum[:16])
		case r.table == 0 && f.Wire == protobuf.Bytes:
			out.Bytes(f.Number, w.message(f.Body, r.in))
		case f.Wire == protobuf.Varint:
			out.Int(f.Number, w.entry(r.table, f.Value))
		default:
			var list []int64
			if err := numbers(&f, func(v uint64) { list = append(list, w.entry(r.table, v)) }); err != nil {
				return err
			}
			out.Ints(f.Number, list)
		}
		return w.err
	}))
	return out
}

func (w *rewriter) sample(out *protobuf.Message, f *protobuf.Field) {
	values, times, rest, err := points(f.Body)
	w.check(err)
	n := len(values)
	from, to := min(max(w.from-w.at, 0), n), min(max(w.to-w.at, 0), n)
	if w.at += n; from >= to {
		return
	}
	m := w.message(rest, sampleRefs)
	if m.Ints(4, values[from:to]); len(times) == n {
		m.Fixeds(5, times[from:to])
	}
	out.Bytes(f.Number, m)
}

func (w *rewriter) entry(table int, i uint64) int64 {
	if i == 0 || w.err != nil {
		return 0
	}
	if n, ok := w.newIndex[table][i]; ok {
		return n
	}
	if i >= uint64(len(w.tables[table])) {
		w.check(errDamaged("an index that leads nowhere"))
		return 0
	}
	entry := w.tables[table][i]
	if indices := tableRefs[table]; indices != nil { // nil means no refs
		entry = w.message(entry, indices)
	}
	n := w.out.add(table, entry)
	if w.newIndex[table] == nil {
		w.newIndex[table] = map[uint64]int64{}
	}
	w.newIndex[table][i] = n
	return n
}

func fields(m []byte, f func(protobuf.Field) error) error {
	for g, err := range protobuf.Fields(m) {
		if err == nil && g.Number == 0 {
			err = protobuf.ErrKey
		}
		if err != nil {
			return errDamaged(err.Error())
		}
		if err := f(g); err != nil {
			return err
		}
	}
	return nil
}

// numbers takes a packed list or a single number.
func numbers(f *protobuf.Field, each func(uint64)) error {
	if f.Wire == protobuf.Varint {
		each(f.Value)
		return nil
	}
	if f.Wire != protobuf.Bytes {
		return errDamaged("a list")
	}
	for b := f.Body; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errDamaged("a list")
		}
		each(v)
		b = b[n:]
	}
	return nil
}
