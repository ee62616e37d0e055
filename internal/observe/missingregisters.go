// SPDX-License-Identifier: Apache-2.0

package observe

import "prywalk/frames"

// missingRegisterSites is a hash table of [siteKey]s. A collision replaces the older one.
type missingRegisterSites [1024]uint64

// On x86-64 a missing register depends on the callers.
func siteKey(tid int, s *RawSample) uint64 {
	if s.Regs.Arch == frames.ARM64 {
		return s.Regs.PC
	}
	return (s.Regs.PC*0x9e3779b97f4a7c15 ^ s.Regs.SP()*0xc2b2ae3d27d4eb4f ^ uint64(tid)*0x165667b19e3779f9) | 1
}

func (sites *missingRegisterSites) slot(key uint64) *uint64 {
	return &sites[key*0x9e3779b97f4a7c15>>54%uint64(len(sites))]
}

func (sites *missingRegisterSites) note(key uint64) {
	if key != 0 {
		*sites.slot(key) = key
	}
}

func (sites *missingRegisterSites) has(key uint64) bool { return *sites.slot(key) == key }

func (feedback *WalkFeedback) noteMissingRegister(s *RawSample) {
	if s.How != ByPassiveRead || !Interruptible(feedback.id, &s.Call, &s.Mem) {
		return
	}
	feedback.reads.MissingRegisterSite = siteKey(feedback.id.TID, s)
	feedback.readAgainIf(!s.stopRefused)
}
