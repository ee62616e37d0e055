// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"fmt"
	"slices"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/base/protobuf"
	"prywalk/internal/host/filememory"
)

// The pprof library takes 2 KB for a sample of 50 bytes. decoder cuts out stacks and labels before decoding, and adds
// them afterwards; stacks and text labels are shared and read-only.
type decoder struct {
	memory  *filememory.Account
	samples [][]byte
	strings []string

	locations map[uint64]*pprof.Location

	// Shared values, by encoded form.
	stacks map[string][]*pprof.Location
	texts  map[string]map[string][]string
	units  map[string]map[string][]string

	buf, ids, text, number []byte

	err error
}

func decode(data []byte, c *cost, memory *filememory.Account) (*pprof.Profile, error) {
	d := &decoder{memory: memory, samples: make([][]byte, 0, c.samples), strings: make([]string, 0, c.strings),
		stacks: map[string][]*pprof.Location{},
		texts:  map[string]map[string][]string{}, units: map[string]map[string][]string{}}
	p, err := pprof.ParseUncompressed(d.stripSamples(data))
	if err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	d.locations = make(map[uint64]*pprof.Location, len(p.Location))
	for _, l := range p.Location {
		d.locations[l.ID] = l
	}
	for i, sample := range p.Sample {
		if d.addStackAndLabels(sample, d.samples[i]); d.err != nil {
			return nil, d.err
		}
	}
	return p, separate(p, memory)
}

func (d *decoder) stripSamples(data []byte) []byte {
	out := make(protobuf.Message, 0, len(data))
	for f, err := range protobuf.Fields(data) { // costOf has checked
		if err != nil {
			break
		}
		switch f.Number {
		case fieldString:
			d.strings = append(d.strings, string(f.Body))
		case fieldSample:
			d.samples = append(d.samples, f.Body)
			d.buf = d.buf[:0]
			for g, err := range protobuf.Fields(f.Body) {
				if err != nil {
					break
				}
				if g.Number != sampleLocations && g.Number != sampleLabel {
					d.buf = append(d.buf, g.Raw...)
				}
			}
			out.Bytes(fieldSample, d.buf)
			continue
		}
		out = append(out, f.Raw...)
	}
	return out
}

func (d *decoder) addStackAndLabels(sample *pprof.Sample, body []byte) {
	ids, text, number := d.ids[:0], d.text[:0], d.number[:0]
	for f, err := range protobuf.Fields(body) {
		if err != nil {
			break
		}
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
	d.ids, d.text, d.number = ids, text, number
	sample.Location, sample.Label = d.stack(ids), d.textLabels(text)
	d.numberLabels(sample, number)
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("a sample with a %s that is not there", what)
	}
}

// take charges n bytes that will be allocated; false after an error.
func (d *decoder) take(n int, what string) bool {
	if d.err == nil {
		d.err = d.memory.Take(int64(n), what)
	}
	return d.err == nil
}

func (d *decoder) stack(ids []byte) []*pprof.Location {
	if stack, ok := d.stacks[string(ids)]; ok {
		return stack
	}
	n := varints(ids)
	if !d.take(labelMapCost+len(ids)+8*n, "stacks") {
		return nil
	}
	stack := make([]*pprof.Location, 0, n)
	for rest := ids; len(rest) > 0; {
		id, k := binary.Uvarint(rest)
		l := d.locations[id]
		if k <= 0 || l == nil {
			d.fail("location")
			return nil
		}
		stack, rest = append(stack, l), rest[k:]
	}
	stack = slices.Clip(stack)
	d.stacks[string(ids)] = stack
	return stack
}

type label struct{ key, text, number, unit uint64 }

func readLabel(body []byte) (l label) {
	for f, err := range protobuf.Fields(body) {
		if err != nil {
			return label{key: ^uint64(0)}
		}
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

func (d *decoder) stringAt(i uint64) string {
	if i >= uint64(len(d.strings)) {
		d.fail("string")
		return ""
	}
	return d.strings[i]
}

func (d *decoder) textLabels(list []byte) map[string][]string {
	m, ok := d.texts[string(list)]
	if ok || len(list) == 0 {
		return m
	}
	m = map[string][]string{}
	for f, err := range protobuf.Fields(list) {
		if err != nil {
			break
		}
		n := textLabelCost + len(f.Raw)
		if len(m)%8 == 0 {
			n += labelMapCost
		}
		if !d.take(n, "labels") {
			return nil
		}
		l := readLabel(f.Body)
		key := d.stringAt(l.key)
		m[key] = append(m[key], d.stringAt(l.text))
	}
	d.texts[string(list)] = m
	return m
}

func (d *decoder) numberLabels(sample *pprof.Sample, list []byte) {
	var values map[string][]int64
	d.buf = d.buf[:0]
	for f, err := range protobuf.Fields(list) {
		if err != nil {
			break
		}
		l := readLabel(f.Body)
		key := d.stringAt(l.key)
		if d.err != nil {
			return
		}
		if l.number == 0 && l.unit == 0 {
			continue
		}
		if (len(values) == 0 || len(values) >= 8) && !d.take(labelMapCost, "labels") {
			return
		}
		if values == nil {
			values = map[string][]int64{}
		}
		values[key] = append(values[key], int64(l.number))
		d.buf = binary.AppendUvarint(binary.AppendUvarint(d.buf, l.key), l.unit)
	}
	if len(values) == 0 {
		return
	}
	sample.NumLabel = values
	units, ok := d.units[string(d.buf)]
	if !ok {
		units = d.unitsOf(d.buf)
		d.units[string(d.buf)] = units
	}
	sample.NumUnit = units
}

func (d *decoder) unitsOf(list []byte) map[string][]string {
	out, count := map[string][]string{}, map[string]int{}
	for len(list) > 0 && d.take(labelMapCost, "labels") {
		keyIndex, size := binary.Uvarint(list)
		unitIndex, unitSize := binary.Uvarint(list[size:])
		list = list[size+unitSize:]
		key, unit := d.stringAt(keyIndex), d.stringAt(unitIndex)
		if unitIndex != 0 {
			out[key] = append(padTo(out[key], count[key]), unit)
		}
		count[key]++
	}
	for key, units := range out {
		out[key] = padTo(units, count[key])
	}
	return out
}

func padTo(list []string, n int) []string {
	for len(list) < n {
		list = append(list, "")
	}
	return list
}
