// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"
)

// Offsets of dicts (Include/cpython/dictobject.h), their keys (Objects/dict-common.h, 3.11 on:
// Include/internal/pycore_dict.h), modules and types.
const (
	dictKeys   = 32
	dictValues = 40 // unless it is 0, the dict has values in the keys' order
	moduleDict = 16

	typeFlags  = 168
	typeDict   = 288 // tp_dictoffset
	flagInline = 1 << 2
	flagDict   = 1 << 4 // Py_TPFLAGS_MANAGED_DICT

	keysLog2Index = 9  // dk_log2_index_bytes
	keysKind      = 10 // dk_kind; 0 means that not all are strings
	keysEntries   = 24 // dk_nentries
	keysIndices   = 32

	keysSlots310   = 8 // dk_size
	keysEntries310 = 32
	keysIndices310 = 40

	valuesBefore311 = 32 // from the values' address to the object
	valuesBefore312 = 24 // bit 0 means values, not a dict
	valuesValid     = 3  // byte in PyDictValues, 3.13 on
)

const (
	maxEntries = 1 << 14
	maxShared  = 256 // entries of shared keys
)

// entry is of a dict. A key that is an int below 2^61-1 is its own hash.
type entry struct{ hash, key, value uint64 }

// objects reads a running process's objects: callers read twice.
type objects struct {
	r      *interpreter
	shared map[uint64][]entry
	places map[attribute]int // index among shared; −1 means none
}

type attribute struct {
	keys uint64
	name string
}

func (in *interpreter) objects() *objects {
	return &objects{in, map[uint64][]entry{}, map[attribute]int{}}
}

func (o *objects) is(at, typ uint64) bool {
	return at != 0 && typ != 0 && o.r.read64(at+objectType+o.r.headExtra) == typ
}

func (o *objects) table(keys uint64, most int) []entry {
	var b [40]byte
	if keys == 0 || o.r.host.Read(keys, b[:]) != len(b) {
		return nil
	}
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	n, size := word(keysEntries), uint64(24)
	var from uint64
	if o.r.minor >= 11 {
		if b[keysLog2Index] > 32 {
			return nil
		}
		from = keysIndices + 1<<b[keysLog2Index]
		if b[keysKind] != 0 { // all keys are strings
			size = 16
		}
	} else {
		slots := word(keysSlots310)
		n, from = word(keysEntries310), keysIndices310+indexWidth(slots)*slots
	}
	if n > uint64(most) || from > 1<<32 {
		return nil
	}
	all := make([]byte, n*size)
	if n == 0 || o.r.host.Read(keys+from, all) != len(all) {
		return nil
	}
	list := make([]entry, n)
	for i := range list {
		e := all[uint64(i)*size:]
		if size == 24 {
			list[i].hash, e = binary.LittleEndian.Uint64(e), e[8:]
		}
		list[i].key, list[i].value = binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
	}
	return list
}

func indexWidth(slots uint64) uint64 {
	switch {
	case slots <= 0xff:
		return 1
	case slots <= 0xffff:
		return 2
	case slots <= 0xffffffff:
		return 4
	}
	return 8
}

func (o *objects) entries(dict uint64) []entry {
	if !o.is(dict, o.r.dictType) {
		return nil
	}
	list := o.table(o.r.read64(dict+dictKeys+o.r.headExtra), maxEntries)
	if values := o.r.read64(dict + dictValues + o.r.headExtra); values != 0 {
		o.fill(list, values+o.r.valuesHead())
	}
	return list
}

func (in *interpreter) valuesHead() uint64 {
	if in.minor >= 13 {
		return 8
	}
	return 0
}

func (o *objects) fill(list []entry, values uint64) {
	b := make([]byte, 8*len(list))
	n := o.r.host.Read(values, b)
	for i := range list {
		list[i].value = 0
		if 8*i+8 <= n {
			list[i].value = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
}

func (o *objects) get(list []entry, name string) uint64 {
	for _, e := range list {
		if e.value != 0 && o.isText(e.key, name) {
			return e.value
		}
	}
	return 0
}

func (o *objects) isText(at uint64, text string) bool {
	var b [96]byte
	from := int(o.r.textASCII)
	if at == 0 || from+len(text) > len(b) || o.r.host.Read(at, b[:from+len(text)]) != from+len(text) {
		return false
	}
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	return word(objectType+int(o.r.headExtra)) == o.r.unicodeType &&
		word(textLength+int(o.r.headExtra)) == uint64(len(text)) && string(b[from:from+len(text)]) == text
}

func (o *objects) text(at uint64) (string, bool) {
	if !o.is(at, o.r.unicodeType) {
		return "", false
	}
	return o.r.textOf(o.r.host, at)
}

func (o *objects) attribute(at uint64, name string) uint64 {
	typ := o.r.read64(at + objectType + o.r.headExtra)
	if typ == 0 {
		return 0
	}
	r := o.r
	flags := r.read64(typ + typeFlags + r.headExtra)
	switch {
	case r.minor <= 10 || flags&flagDict == 0:
		off := r.read64(typ + typeDict + o.r.headExtra)
		if off == 0 || off > 1<<16 {
			return 0
		}
		return o.get(o.entries(r.read64(at+off)), name)
	case r.minor == 11:
		if values := r.read64(at - valuesBefore311); values != 0 {
			return o.ofType(typ, values, name)
		}
	case r.minor == 12:
		if p := r.read64(at - valuesBefore312); p&1 != 0 {
			return o.ofType(typ, p+1, name)
		}
	case flags&flagInline != 0:
		values := at + r.read64(typ+typeSize+o.r.headExtra)
		if r.read64(values)>>(8*valuesValid)&0xff == 1 {
			return o.ofType(typ, values+r.valuesHead(), name)
		}
	}
	return o.get(o.entries(r.read64(at-r.dictBefore)), name)
}

func (o *objects) ofType(typ, values uint64, name string) uint64 {
	keys := o.r.read64(typ + o.r.typeKeys)
	list, known := o.shared[keys]
	if !known {
		list = o.table(keys, maxShared)
		o.shared[keys] = list
	}
	at := attribute{keys, name}
	place, known := o.places[at]
	if !known {
		place = slices.IndexFunc(list, func(e entry) bool { return o.isText(e.key, name) })
		o.places[at] = place
	}
	if place < 0 {
		return 0
	}
	return o.r.read64(values + 8*uint64(place))
}
