package heuristics

// addressX86 gives the value of a memory operand's address.
func addressX86(st *state, i *instX86) value {
	if i.base == noReg || i.index != noReg || i.pfx&(pfxSeg|pfx67) != 0 {
		return value{}
	}
	v := st.regs[i.base]
	if v.kind != initial && v.kind != loaded {
		return value{}
	}
	return v.plus(int64(i.disp))
}

// setX86 writes a register; a stack pointer of which nothing is known begins a
// new base, so that what is pushed from there on can be popped again.
func setX86(st *state, reg uint8, v value) {
	if reg == hwSP && (v.kind == unknown || v.kind == number) {
		v = st.fresh()
	}
	st.set(reg, v)
}

// moveX86: mov between registers, stack and constants; lea.
func moveX86(st *state, i *instX86) {
	switch op := i.op; {
	case op == 0x8d:
		leaX86(st, i)
	case op >= 0xb8 && op < 0xc0:
		setX86(st, i.low(), constX86(i))
	case op == 0xc7 && i.mod == 3:
		setX86(st, i.rm, constX86(i))
	case op == 0xc7:
		st.store(addressX86(st, i), value{})
	case i.mod == 3:
		from, to := i.reg, i.rm
		if op == 0x8b {
			from, to = to, from
		}
		v := value{}
		if i.w {
			v = st.regs[from]
		}
		setX86(st, to, v)
		st.loadedSP(to)
	case op == 0x89:
		storeX86(st, i)
	default:
		loadX86(st, i)
	}
}

func constX86(i *instX86) value {
	if i.imm < 0 && !i.w || i.imm != int64(int32(i.imm)) {
		return value{}
	}
	return value{kind: number, off: int32(i.imm)}
}

func leaX86(st *state, i *instX86) {
	v := value{}
	if i.w {
		v = addressX86(st, i)
	}
	setX86(st, i.reg, v)
}

func storeX86(st *state, i *instX86) {
	v := value{}
	if i.w {
		v = st.regs[i.reg]
	}
	st.store(addressX86(st, i), v)
}

func loadX86(st *state, i *instX86) {
	at := addressX86(st, i)
	if !i.w || at.kind != initial || i.reg == hwSP && at.base != hwSP && at.base != hwBP {
		setX86(st, i.reg, value{})
		st.loadedSP(i.reg)
		return
	}
	st.restore(i.reg, at)
}

// arithX86: additions to tracked registers; of all else, which registers it
// changes.
func arithX86(st *state, i *instX86) {
	if !i.w || !i.hasRM {
		dropX86(st, writesOne(i))
		return
	}
	switch op := i.op; {
	case op == 0x81 || op == 0x83:
		immX86(st, i)
	case i.mod != 3:
		dropX86(st, writesOne(i))
	case op == 0x01 || op == 0x29:
		sumX86(st, i.rm, i.reg, op == 0x29)
	case op == 0x03 || op == 0x2b:
		sumX86(st, i.reg, i.rm, op == 0x2b)
	case op == 0x39 && i.rm == hwSP:
		st.cmpReg = i.reg
	case op == 0x3b && i.reg == hwSP:
		st.cmpReg = i.rm
	case op == 0x39 && i.reg == hwSP:
		st.cmpReg = i.rm
	default:
		dropX86(st, writesOne(i))
	}
}

// dropX86 forgets registers, giving the stack pointer a fresh base.
func dropX86(st *state, mask uint32) {
	st.clobber(mask)
	if mask&(1<<hwSP) != 0 {
		st.regs[hwSP] = st.fresh()
	}
}

// sumX86: add or sub between registers. A constant moves the stack pointer by a
// known amount, anything else by an unknown one.
func sumX86(st *state, to, from uint8, negative bool) {
	v := value{}
	if n := st.regs[from]; n.kind == number {
		off := int64(n.off)
		if negative {
			off = -off
		}
		v = st.regs[to].plus(off)
	}
	setX86(st, to, v)
}

// immX86: arithmetic with a constant.
func immX86(st *state, i *instX86) {
	if i.mod != 3 {
		return
	}
	switch i.reg & 7 {
	case 0:
		setX86(st, i.rm, st.regs[i.rm].plus(i.imm))
	case 5:
		setX86(st, i.rm, st.regs[i.rm].plus(-i.imm))
	case 7:
	default:
		setX86(st, i.rm, value{})
	}
}
