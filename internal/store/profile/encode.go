// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/protobuf"
)

// profile.proto, Profile.
const (
	fieldSampleType    = 1
	fieldSample        = 2
	fieldMapping       = 3
	fieldLocation      = 4
	fieldFunction      = 5
	fieldString        = 6
	fieldTime          = 9
	fieldDuration      = 10
	fieldPeriodType    = 11
	fieldPeriod        = 12
	fieldComment       = 13
	fieldDefaultSample = 14
	fieldDocURL        = 15
)

// profile.proto, Sample and Label.
const (
	sampleLocations = 1
	sampleValues    = 2
	sampleLabel     = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4
)

type encoder struct {
	tables    *frozenTables
	out       stream
	strings   stringTable
	functions map[Frame]int
	funcList  []Frame // by id − 1; without Line and Inlined
	mappings  []mappingFlags
	used      []bool
	final     []finalName
	msg, sub  protobuf.Message
}

type mappingFlags struct{ used, functions, files, lines, inlined bool }

func (t *frozenTables) encode(w io.Writer, r Resolver) ([]finalName, error) {
	buf := bufio.NewWriterSize(w, 1<<16)
	e := &encoder{
		tables: t, out: stream{w: buf}, strings: stringTable{list: []string{""}, index: map[string]int{"": 0}},
		functions: map[Frame]int{},
		mappings:  make([]mappingFlags, len(t.modules)),
		used:      make([]bool, len(t.locs)),
	}
	e.header()
	e.samples()
	e.locations(r)
	e.writeFunctions()
	e.writeMappings()
	if e.tables.meta.LastComments != nil {
		e.comments(e.tables.meta.LastComments())
	}
	for _, s := range e.strings.list {
		e.out.message(fieldString, []byte(printable.UTF8(s)))
	}
	if e.out.err != nil {
		return nil, e.out.err
	}
	return e.final, buf.Flush()
}

func (e *encoder) header() {
	for _, t := range valueTypes {
		e.out.message(fieldSampleType, e.valueType(t.name, t.unit))
	}
	e.out.message(fieldPeriodType, e.valueType(TypeCPU, Nanoseconds))
	e.out.int(fieldPeriod, e.tables.meta.Period.Nanoseconds())
	e.out.int(fieldDefaultSample, e.strings.add(TypeCPU))
	if !e.tables.meta.Start.IsZero() {
		e.out.int(fieldTime, e.tables.meta.Start.UnixNano())
		e.out.int(fieldDuration, max(0, e.tables.meta.End.Sub(e.tables.meta.Start).Nanoseconds()))
	}
	e.comments(e.tables.meta.Comments)
}

func (e *encoder) comments(lines []string) {
	for _, c := range lines {
		e.out.int(fieldComment, e.strings.add(c))
	}
}

func (e *encoder) valueType(name, unit string) []byte {
	e.msg = e.msg[:0]
	e.msg.Int(1, e.strings.add(name))
	e.msg.Int(2, e.strings.add(unit))
	return e.msg
}

func (e *encoder) samples() {
	sets := make([][]byte, len(e.tables.labels)) // label sets by number, encoded
	for i := range e.tables.sums {
		r := &e.tables.sums[i]
		if sets[r.labels] == nil {
			sets[r.labels] = e.labelSet(&e.tables.labels[r.labels])
		}
		e.sample(r, sets[r.labels], false)
	}
	err := eachRecord(e.tables.chunks, func(r *record) error {
		if r.set != nil {
			sets = append(sets[:r.labels], e.labelSet(r.set))
		}
		if e.tables.meta.Ring == 0 || r.clip(e.tables.meta.Start.UnixNano()) {
			e.sample(r, sets[r.labels], true)
		}
		return e.out.err
	})
	if lost, ok := errors.AsType[*lostError](err); ok {
		e.tables.lost = lost
		e.out.int(fieldComment, e.strings.add(lost.Error()))
		return
	}
	e.out.err = cmp.Or(e.out.err, err)
}

func (e *encoder) sample(r *record, labels []byte, timed bool) {
	e.msg = e.msg[:0]
	e.sub = e.sub[:0]
	for s := e.tables.stackOfID(r.stack); len(s) > 0; s = s[locSize:] {
		id := firstLoc(s)
		e.used[id] = true
		e.sub = binary.AppendUvarint(e.sub, uint64(id)+1)
	}
	e.msg.Bytes(sampleLocations, e.sub)
	e.sub = e.sub[:0]
	for _, v := range [...]int64{r.samples, r.wall, r.runqueue, r.cpu} {
		e.sub = binary.AppendUvarint(e.sub, uint64(v))
	}
	e.msg.Bytes(sampleValues, e.sub)
	e.msg = append(e.msg, labels...)
	if timed {
		e.numLabel(&e.msg, LabelEnd, r.end, Nanoseconds)
	}
	e.out.message(fieldSample, e.msg)
}

func (e *encoder) labelSet(l *labelSet) []byte {
	var m protobuf.Message
	for i, v := range l.numbers() {
		if *v > 0 || i == 0 { // the process always has a label
			e.numLabel(&m, numberLabels[i], int64(*v), "")
		}
	}
	if l.Owner < 0 {
		e.label(&m, LabelOwner, OwnerText(l.Owner))
	}
	for i, name := range textLabels {
		e.label(&m, name, *l.texts()[i])
	}
	eachPair(l.Container, func(key, value string) { e.label(&m, key, value) })
	eachLabel(l.Labels, func(key, value string) { e.label(&m, key, value) })
	return m
}

func (e *encoder) label(to *protobuf.Message, key, value string) {
	if value == "" {
		return
	}
	e.sub = e.sub[:0]
	e.sub.Int(labelKey, e.strings.add(key))
	e.sub.Int(labelStr, e.strings.add(value))
	to.Bytes(sampleLabel, e.sub)
}

func (e *encoder) numLabel(to *protobuf.Message, key string, value int64, unit string) {
	e.sub = e.sub[:0]
	e.sub.Int(labelKey, e.strings.add(key))
	e.sub.Int(labelNum, value)
	e.sub.Int(labelUnit, e.strings.add(unit))
	to.Bytes(sampleLabel, e.sub)
}

type stream struct {
	w    io.Writer
	head protobuf.Message
	err  error
}

func (s *stream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

func (s *stream) message(field int, b []byte) {
	s.head = s.head[:0]
	s.head.Key(field, protobuf.Bytes)
	s.head = binary.AppendUvarint(s.head, uint64(len(b)))
	s.write(s.head)
	s.write(b)
}

func (s *stream) int(field int, v int64) {
	var m protobuf.Message
	m.Int(field, v)
	s.write(m)
}

// Number 0 is "". Invalid UTF-8 is escaped when it is written, since other readers refuse it.
type stringTable struct {
	list  []string
	index map[string]int
}

func (t *stringTable) add(s string) int64 { return int64(NumberIn(&t.list, t.index, s)) }
