// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "debug/dwarf"

// As bytes of abbreviation tables.
const (
	tagCompileUnit     = byte(dwarf.TagCompileUnit)
	tagSubprogram      = byte(dwarf.TagSubprogram)
	attrLowPC          = byte(dwarf.AttrLowpc)
	attrHighPC         = byte(dwarf.AttrHighpc)
	attrAbstractOrigin = byte(dwarf.AttrAbstractOrigin)
	formAddr           = 0x01
	formData1          = 0x0b
	formData4          = 0x06
	formRef4           = 0x13
	formIndirect       = 0x16
)
