// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

// Call frame instructions (DWARF 5 §7.24, table 7.29). The first three have an operand in their low six bits.
const (
	cfaAdvanceLoc = 0x40
	cfaOffset     = 0x80
	cfaRestore    = 0xc0

	cfaNop              = 0x00
	cfaSetLoc           = 0x01
	cfaAdvanceLoc1      = 0x02
	cfaAdvanceLoc2      = 0x03
	cfaAdvanceLoc4      = 0x04
	cfaOffsetExtended   = 0x05
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaRememberState    = 0x0a
	cfaRestoreState     = 0x0b
	cfaDefCFA           = 0x0c
	cfaDefCFARegister   = 0x0d
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaDefCFAOffsetSF   = 0x13
	cfaValOffset        = 0x14
	cfaValOffsetSF      = 0x15
	cfaValExpression    = 0x16

	// Vendor extensions: binutils include/dwarf2.def; "DWARF for the Arm 64-bit Architecture", §4.5.
	cfaMIPSAdvanceLoc8   = 0x1d
	cfaARM64SetRAState   = 0x2b
	cfaARM64NegateRAPC   = 0x2c
	cfaARM64NegateRA     = 0x2d // elsewhere DW_CFA_GNU_window_save
	cfaGNUArgsSize       = 0x2e
	cfaGNUNegativeOffset = 0x2f
)
