// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

const maxHops = 16

// resolve follows DW_AT_abstract_origin and DW_AT_specification (DWARF 5 §2.13.2, §3.3.8.1).
func (d *Data) resolve(off uint64) *Func {
	if f := d.names[off]; f != nil {
		return f
	}
	var r nameReader
	r.follow(d, off)
	f := &Func{Line: r.line}
	d.names[off] = f
	if n := len(r.name) + len(r.linkage); !d.spendSteps(1+n/16) || !d.takeMemory(funcCost+n) {
		return f
	}
	f.Name, f.Linkage = string(r.name), string(r.linkage)
	return f
}

type nameReader struct {
	name, linkage []byte
	line          int
}

func (r *nameReader) follow(d *Data, off uint64) {
	for range maxHops {
		u := d.unitAt(off)
		if u == nil {
			return
		}
		next := r.read(u, off)
		switch {
		case next.kind == kindRef:
			off = next.u
		case next.kind == kindAltRef && d.alt != nil:
			d, off = d.alt, next.u
		default:
			return
		}
	}
}

func (r *nameReader) read(u *unit, off uint64) (next value) {
	c := u.cursorAt(off)
	a := u.abbrevsOf()[c.ULEB()]
	if a == nil {
		return next
	}
	for _, s := range a.specs {
		switch s.attr {
		case attrName:
			r.name = firstNonNil(r.name, u.stringOf(u.readForm(&c, s)))
		case attrLinkageName, attrMIPSLinkage:
			r.linkage = firstNonNil(r.linkage, u.stringOf(u.readForm(&c, s)))
		case attrDeclLine:
			if v := u.readForm(&c, s); r.line == 0 && v.u < 1<<31 {
				r.line = int(v.u)
			}
		case attrAbstractOrigin, attrSpecification:
			next = u.readForm(&c, s)
		default:
			u.skipForm(&c, s.form)
		}
	}
	return next
}

func firstNonNil(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}
