# Debian: iverilog
echo 'module t; reg c=0; reg [31:0] n=1; reg [63:0] m[0:63]; always #1 c=~c;
always @(posedge c) begin n<=n*1103515245+12345; m[n[5:0]]<=m[n[11:6]]^{n,n}; if (n[20:0]==3) $display("%h",n); end endmodule' >t.v
iverilog -o t t.v && exec vvp -n t >/dev/null

# SPDX-License-Identifier: Apache-2.0
