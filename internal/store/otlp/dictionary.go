// SPDX-License-Identifier: Apache-2.0

// Package otlp writes messages of OpenTelemetry's profiles signal, and divides large ones.
//
// # Algorithm
//
// A [Dictionary] holds the common entries of a message's profiles, found by their bytes, so that equal ones are one. An
// entry follows those to which it refers. [Split] writes two messages, each with half of the points and the entries
// that they use.
//
// # Source
//
// opentelemetry/proto/profiles/v1development/profiles.proto of github.com/open-telemetry/opentelemetry-proto, release
// 1.9 and later: entry 0 of each table is the zero value, entries are unique, each index has an entry.
package otlp

import (
	"encoding/binary"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/protobuf"
)

// The tables of ProfilesDictionary by field number; entry 0 of each is the zero value.
const (
	tableMappings   = 1
	tableLocations  = 2
	tableFunctions  = 3
	tableLinks      = 4
	tableStrings    = 5
	tableAttributes = 6
	tableStacks     = 7
)

// entryCost is for an entry whose bytes are held twice: in the table and as a key.
const entryCost = 160

// Dictionary has the common entries of a message's profiles. Its methods named as an entry return its number.
type Dictionary struct {
	tables  [tableStacks + 1]protobuf.Message
	numbers [tableStacks + 1]map[string]int64
	take    func(int64) bool // counts bytes of memory; may be nil
}

// NewDictionary returns an empty Dictionary. It calls take, if not nil, with each entry's memory, bytes.
func NewDictionary(take func(int64) bool) *Dictionary {
	d := &Dictionary{take: take}
	for table := tableMappings; table <= tableStacks; table++ {
		d.numbers[table] = map[string]int64{}
		d.add(table, nil)
	}
	return d
}

func (d *Dictionary) add(table int, entry []byte) int64 {
	if i, ok := d.numbers[table][string(entry)]; ok {
		return i
	}
	if d.take != nil {
		d.take(int64(2*len(entry)) + entryCost)
	}
	d.tables[table].Bytes(table, entry)
	i := int64(len(d.numbers[table]))
	d.numbers[table][string(entry)] = i
	return i
}

// text is a string's number.
func (d *Dictionary) text(s string) int64 { return d.add(tableStrings, []byte(valid(s))) }

// Attribute is an attribute's number. value is a string or an int64.
func (d *Dictionary) Attribute(key string, value any) int64 {
	var m protobuf.Message
	m.Int(1, d.text(key))
	m.Bytes(2, anyValue(value))
	return d.add(tableAttributes, m)
}

func (d *Dictionary) mapping(p *profile.Mapping) int64 {
	var m protobuf.Message
	m.Int(1, int64(p.Start))
	m.Int(2, int64(p.Limit))
	m.Int(3, int64(p.Offset))
	m.Int(4, d.text(p.File))
	if p.BuildID != "" {
		m.Ints(5, []int64{d.Attribute("process.executable.build_id.gnu", p.BuildID)})
	}
	return d.add(tableMappings, m)
}

func (d *Dictionary) function(f *profile.Function) int64 {
	var m protobuf.Message
	m.Int(1, d.text(f.Name))
	m.Int(2, d.text(f.SystemName))
	m.Int(3, d.text(f.Filename))
	m.Int(4, f.StartLine)
	return d.add(tableFunctions, m)
}

// Location is a location's number. It ignores the IDs of l, its functions and its mapping.
func (d *Dictionary) Location(l *profile.Location) int64 {
	var m, lines protobuf.Message
	for _, line := range l.Line {
		var n protobuf.Message
		if line.Function != nil {
			n.Int(1, d.function(line.Function))
		}
		n.Int(2, line.Line)
		n.Int(3, line.Column)
		lines.Bytes(3, n)
	}
	if l.Mapping != nil {
		m.Int(1, d.mapping(l.Mapping))
	}
	m.Int(2, int64(l.Address))
	m = append(m, lines...)
	if l.Mapping != nil {
		m.Ints(4, []int64{d.Attribute("profile.frame.type", frameType(l.Mapping.File))})
	}
	return d.add(tableLocations, m)
}

// Link is the number of a link to a span, of trace (16 bytes) and span id (8 bytes).
func (d *Dictionary) Link(trace, span []byte) int64 {
	var m protobuf.Message
	m.Bytes(1, trace)
	m.Bytes(2, span)
	return d.add(tableLinks, m)
}

// Stack is a stack's number. The innermost location is first.
func (d *Dictionary) Stack(locations []int64) int64 {
	var m protobuf.Message
	m.Ints(1, locations)
	return d.add(tableStacks, m)
}

// ValueType returns the message.
func (d *Dictionary) ValueType(typ, unit string) (m protobuf.Message) {
	m.Int(1, d.text(typ))
	m.Int(2, d.text(unit))
	return m
}

// Message returns the ProfilesDictionary.
func (d *Dictionary) Message() (m protobuf.Message) {
	for _, t := range d.tables {
		m = append(m, t...)
	}
	return m
}

func anyValue(v any) (m protobuf.Message) {
	switch v := v.(type) {
	case string:
		m.Bytes(1, []byte(valid(v)))
	case int64: // 0, too: a member of a oneof
		m.Key(3, protobuf.Varint)
		m = binary.AppendUvarint(m, uint64(v))
	}
	return m
}

// KeyValue returns a resource's attribute. value is a string or an int64.
func KeyValue(key string, value any) (pair protobuf.Message) {
	pair.Bytes(1, []byte(valid(key)))
	pair.Bytes(2, anyValue(value))
	return pair
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") } // protocol buffers require UTF-8

// ThreadAttributes are a sample's thread and state. Zero values are left out.
type ThreadAttributes struct {
	TID                                            int64
	Name, State, Wait, WaitsFor, Owner, Role, Task string
}

// ThreadAttributes returns their numbers, named by OpenTelemetry's semantic conventions where these have a name.
func (d *Dictionary) ThreadAttributes(t *ThreadAttributes) (list []int64) {
	if t.TID != 0 {
		list = append(list, d.Attribute("thread.id", t.TID))
	}
	for _, a := range [...]struct{ key, value string }{
		{"thread.name", t.Name}, {"prywalk.thread.state", t.State}, {"prywalk.wait", t.Wait},
		{"prywalk.waits_for", t.WaitsFor}, {"prywalk.owner", t.Owner}, {"prywalk.thread.role", t.Role},
		{"prywalk.task", t.Task},
	} {
		if a.value != "" {
			list = append(list, d.Attribute(a.key, a.value))
		}
	}
	return list
}

// frameType returns profile.frame.type (OpenTelemetry's semantic conventions, profile) by a frame's mapping.
func frameType(mapping string) string {
	if mapping == "[kernel]" {
		return "kernel"
	}
	if l := languages.OfMapping(mapping); l != nil && l.Kind != "" {
		return l.Kind
	}
	return "native"
}
