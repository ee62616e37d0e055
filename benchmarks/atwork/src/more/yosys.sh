# Debian: yosys
echo 'module t(input [15:0] a,b,input c,output reg [31:0] q); always @(posedge c) q<=a*b+(q/(b|1))^(q<<a[3:0]); endmodule' >t.v
while :; do yosys -q -p 'read_verilog t.v; synth -top t -noabc' || exit; done

# SPDX-License-Identifier: Apache-2.0
