// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bufio"
	"encoding/binary"
	"io"
)

// profile.proto, message Profile.
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

type functionKey struct {
	name, system, file string
	start              int
}

type encoder struct {
	*frozenTables
	out       stream
	strings   stringTable
	functions map[functionKey]uint64
	funcList  []functionKey
	mappings  []mappingFlags
	labelMsgs [][]byte
	era       int
	used      []bool // locations with samples
	final     []finalName
	msg, sub  message
}

type mappingFlags struct{ used, functions, files, lines, inlined bool }

// encode writes the tables, and returns the names that became final.
func (v *frozenTables) encode(w io.Writer, r Resolver) ([]finalName, error) {
	buf := bufio.NewWriterSize(w, 1<<16)
	e := &encoder{
		frozenTables: v, out: stream{w: buf}, strings: newStringTable(),
		functions: map[functionKey]uint64{},
		mappings:  make([]mappingFlags, len(v.modules)),
		used:      make([]bool, len(v.locs)),
	}
	e.header()
	e.samples()
	e.locations(r)
	e.writeFunctions()
	e.writeMappings()
	for _, s := range e.strings.list {
		e.out.message(fieldString, []byte(s))
	}
	if e.out.err != nil {
		return nil, e.out.err
	}
	return e.final, buf.Flush()
}

func (e *encoder) header() {
	for _, t := range valueTypes {
		e.out.message(fieldSampleType, e.valueType(t[0], t[1]))
	}
	e.out.message(fieldPeriodType, e.valueType(TypeCPU, nanoseconds))
	e.out.int(fieldPeriod, e.meta.Period.Nanoseconds())
	e.out.int(fieldDefaultSample, e.strings.add(TypeCPU))
	if !e.meta.Start.IsZero() {
		e.out.int(fieldTime, e.meta.Start.UnixNano())
		e.out.int(fieldDuration, max(0, e.end.Sub(e.meta.Start).Nanoseconds()))
	}
	for _, c := range e.comments {
		e.out.int(fieldComment, e.strings.add(c))
	}
}

func (e *encoder) valueType(name, unit string) []byte {
	e.msg.reset()
	e.msg.int(1, e.strings.add(name))
	e.msg.int(2, e.strings.add(unit))
	return e.msg.buf
}

func (e *encoder) samples() {
	e.labelMsgs = make([][]byte, len(e.labels))
	for i := range e.sums {
		e.sample(&e.sums[i], false)
	}
	e.era = -1
	err := eachRecord(e.chunks, e.between, e.beginEra, func(r *record) error {
		e.sample(r, true)
		return e.out.err
	})
	if e.out.err == nil {
		e.out.err = err
	}
}

func (e *encoder) beginEra(n int) (err error) {
	if n != e.era {
		e.era = n
		e.labels, err = e.eras[n].labels()
		e.labelMsgs = make([][]byte, len(e.labels))
	}
	return err
}

// sample writes a Sample: location_id 1, value 2, label 3.
func (e *encoder) sample(r *record, timed bool) {
	e.msg.reset()
	e.sub.reset()
	for s := e.stackOfID(r.stack); len(s) > 0; s = s[locSize:] {
		id := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
		e.used[id] = true
		e.sub.buf = binary.AppendUvarint(e.sub.buf, uint64(id)+1)
	}
	e.msg.bytes(1, e.sub.buf)
	e.sub.reset()
	for _, v := range [...]int64{r.samples, r.wall, r.runqueue, r.cpu} {
		e.sub.buf = binary.AppendUvarint(e.sub.buf, uint64(v))
	}
	e.msg.bytes(2, e.sub.buf)
	if e.labelMsgs[r.labels] == nil {
		e.labelMsgs[r.labels] = e.labelSet(&e.labels[r.labels])
	}
	e.msg.buf = append(e.msg.buf, e.labelMsgs[r.labels]...)
	if timed {
		e.numLabel(&e.msg, LabelEnd, r.end, nanoseconds)
	}
	e.out.message(fieldSample, e.msg.buf)
}

func (e *encoder) labelSet(l *labelSet) []byte {
	var m message
	e.numLabel(&m, LabelPID, int64(l.pid), "")
	if l.tid != 0 {
		e.numLabel(&m, LabelTID, int64(l.tid), "")
	}
	if l.nsPID != 0 {
		e.numLabel(&m, LabelNSPID, int64(l.nsPID), "")
	}
	if l.nsTID != 0 {
		e.numLabel(&m, LabelNSTID, int64(l.nsTID), "")
	}
	e.label(&m, LabelComm, l.comm)
	e.label(&m, LabelThread, l.thread)
	e.label(&m, LabelRole, l.role)
	e.label(&m, LabelState, l.state)
	e.label(&m, LabelWait, l.wait)
	e.label(&m, LabelWaitsFor, l.waitsFor)
	switch {
	case l.owner == NoOwner:
		e.label(&m, LabelOwner, OwnerNobody)
	case l.owner != 0:
		e.numLabel(&m, LabelOwner, int64(l.owner), "")
	}
	e.label(&m, LabelTask, l.task)
	EachLabel(l.labels, func(key, value string) { e.label(&m, key, value) })
	return m.buf
}

// label appends a Label: key 1, str 2; none for an empty value.
func (e *encoder) label(to *message, key, value string) {
	if value == "" {
		return
	}
	e.sub.reset()
	e.sub.int(1, e.strings.add(key))
	e.sub.int(2, e.strings.add(value))
	to.bytes(3, e.sub.buf)
}

// numLabel appends a Label: key 1, num 3, num_unit 4.
func (e *encoder) numLabel(to *message, key string, value int64, unit string) {
	e.sub.reset()
	e.sub.int(1, e.strings.add(key))
	e.sub.int(3, value)
	e.sub.int(4, e.strings.add(unit))
	to.bytes(3, e.sub.buf)
}
