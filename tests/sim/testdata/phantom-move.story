# A move reports while its failover asks another for a sign of life: it must not be put back as one that never ends.
seed 3002145 mode enforce fleet 7 rate 0.5 quiet 13m39.06s
time healthy 1s
time schedule 40s
odds signal-lost 184
odds signal-twice 166
odds slow-claim 49
odds slow-signal 77
odds worker-dies 11
binding app1 on m4,m7 may m4,m7 divided replicas 2 tolerate -1 priority 0 soft 0
binding app2 on m4,m1 may any duplicated replicas 3 tolerate -1 priority 3
binding app3 on m1 may m1/m6,m3 duplicated replicas 5 tolerate 0 priority 0
binding app4 on m4 may m3,m4,m6 duplicated replicas 2 tolerate 60 priority 0
binding app5 on m7,m1 may m7,m1/m4,m2,m6 divided replicas 2 tolerate -1 priority 0
binding app6 on m4 may m4 divided replicas 5 tolerate 300 priority 1
binding app7 on m1,m3 may m1,m3 duplicated replicas 0 tolerate -1 priority 0 soft 30
binding app8 on m1 may any divided replicas 1 tolerate 300 priority 0
binding app9 on m5,m6 may m5,m6 divided replicas 4 tolerate -1 priority 0
binding app10 on m1 may m1,m3,m4 divided replicas 2 tolerate -1 priority 0
binding app11 on m1 may m1,m6 duplicated replicas 0 tolerate -1 priority 1
binding app12 on m5 may m5 divided replicas 5 tolerate -1 priority 0
binding app13 on m3 may any divided replicas 2 tolerate 300 priority 3
binding app14 on m1 may m1 duplicated replicas 4 tolerate -1 priority 0
binding app15 on m1 may m1/m1,m2 duplicated replicas 2 tolerate -1 priority 3 soft 120
binding app16 on m1,m7 may any divided replicas 5 tolerate -1 priority 0
binding app17 on m1,m6 may m1,m3,m6 duplicated replicas 0 tolerate -1 priority 1 soft 30
binding app18 on m1 may m1/m3,m5 divided replicas 2 tolerate -1 priority 0
binding app19 on m1,m6 may any duplicated replicas 2 tolerate -1 priority 0 purge Directly soft 30
binding app20 on m1 may m1,m4 duplicated replicas 4 tolerate 60 priority 0
binding app21 on m4,m2 may m4,m2/m7,m6 duplicated replicas 4 tolerate -1 priority 3
binding app22 on m1 may m1 divided replicas 2 tolerate -1 priority 2 soft 30
binding app23 on m7 may any duplicated replicas 5 tolerate -1 priority 0 soft 0
binding app24 on m1,m5 may m1,m2,m4,m5,m6 divided replicas 2 tolerate -1 priority 0
binding app25 on m2,m1 may m1,m2,m5 divided replicas 3 tolerate 300 priority 0 purge Gracefully soft 0
binding app26 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app27 on m1,m7 may m1,m7/m4 duplicated replicas 5 tolerate -1 priority 0
binding app28 on m7,m4 may m7,m4/m4,m1 duplicated replicas 2 tolerate -1 priority 0
binding app29 on m6 may m6 duplicated replicas 1 tolerate -1 priority 3
binding app30 on m4 may m4,m6 divided replicas 3 tolerate -1 priority 0
binding app31 on m1,m5 may m1,m5 duplicated replicas 1 tolerate 0 priority 0 soft 30
binding app32 on m1,m2 may m1,m2 duplicated replicas 4 tolerate -1 priority 0 purge Directly
binding app33 on m5 may m5,m6 divided replicas 3 tolerate -1 priority 0
binding app34 on m4,m1 may any duplicated replicas 3 tolerate -1 priority 0
binding app35 on m1 may m1,m2 duplicated replicas 4 tolerate -1 priority 0
binding app36 on m7,m1 may any duplicated replicas 1 tolerate 300 priority 0 purge Directly soft 120
binding app37 on m1 may m1/m4,m2,m7 duplicated replicas 3 tolerate -1 priority 0
binding app38 on m7 may m1,m7 duplicated replicas 5 tolerate -1 priority 0
binding app39 on m1,m2 may m1,m2 duplicated replicas 5 tolerate -1 priority 3
binding app40 on m5,m1 may m1,m5,m7 duplicated replicas 5 tolerate -1 priority 0 soft 30
binding app41 on m1 may m1/m2 divided replicas 2 tolerate -1 priority 0
binding app42 on m1 may any divided replicas 5 tolerate -1 priority 3 soft 120
binding app43 on m7,m1 may m7,m1 duplicated replicas 5 tolerate 300 priority 0
binding app44 on m1 may m1/m2 duplicated replicas 4 tolerate -1 priority 2
binding app45 on m1 may m1/m2 duplicated replicas 5 tolerate -1 priority 0
binding app46 on m1 may m1 divided replicas 1 tolerate 60 priority 0
binding app47 on m2 may any divided replicas 1 tolerate -1 priority 1
binding app48 on m1 may m1/m2 duplicated replicas 2 tolerate 300 priority 0
binding app49 on m2 may m1,m2 divided replicas 1 tolerate -1 priority 0
binding app50 on m7,m6 may m1,m6,m7 duplicated replicas 4 tolerate 0 priority 0
binding app51 on m1 may m1,m3,m7 duplicated replicas 2 tolerate -1 priority 0
binding app52 on m4,m1 may any duplicated replicas 2 tolerate -1 priority 0 soft 0
binding app53 on m1,m5 may m1,m2,m5 divided replicas 2 tolerate 30 priority 0
binding app54 on m1 may m1/m7,m6,m2 divided replicas 2 tolerate -1 priority 0
binding app55 on m5,m2 may m2,m5 duplicated replicas 2 tolerate -1 priority 0
binding app56 on m5 may m5 duplicated replicas 1 tolerate -1 priority 0 purge Never soft 0
binding app57 on m1,m3 may m1,m3/m3,m4 duplicated replicas 0 tolerate 300 priority 0
binding app58 on m1,m3 may any divided replicas 3 tolerate 300 priority 0 soft 30
binding app59 on m1,m7 may any divided replicas 3 tolerate -1 priority 0
binding app60 on m1,m5 may m1,m5 duplicated replicas 3 tolerate -1 priority 1
binding app61 on m1,m5 may m1,m5,m6,m7 divided replicas 4 tolerate 300 priority 0 purge Gracefully
binding app62 on m1,m2 may m1,m2,m3,m6 duplicated replicas 3 tolerate -1 priority 0
binding app63 on m1 may any duplicated replicas 5 tolerate -1 priority 0
binding app64 on m1 may m1,m2,m4,m7 divided replicas 4 tolerate 60 priority 1
binding app65 on m1,m5 may any divided replicas 2 tolerate -1 priority 0
binding app66 on m1,m6 may any duplicated replicas 2 tolerate -1 priority 0 soft 120
binding app67 on m6,m1 may m1,m3,m6 duplicated replicas 0 tolerate -1 priority 0
binding app68 on m1,m6 may any divided replicas 2 tolerate -1 priority 0
binding app69 on m1 may m1,m3,m5 duplicated replicas 0 tolerate 60 priority 0
binding app70 on m4,m2 may any duplicated replicas 5 tolerate -1 priority 0 soft 0
binding app71 on m1 may any duplicated replicas 2 tolerate 300 priority 0
binding app72 on m1 may any duplicated replicas 5 tolerate -1 priority 2
binding app73 on m5,m2 may m5,m2/m4 divided replicas 5 tolerate 0 priority 0
binding app74 on m1 may any duplicated replicas 1 tolerate -1 priority 0
binding app75 on m1,m6 may m1,m2,m6 duplicated replicas 4 tolerate -1 priority 0
binding app76 on m1 may m1,m2,m4 duplicated replicas 0 tolerate -1 priority 0
binding app77 on m1,m5 may any duplicated replicas 3 tolerate -1 priority 2 purge Gracefully
binding app78 on m1,m2 may m1,m2,m7 divided replicas 2 tolerate -1 priority 1
binding app79 on m1,m6 may any duplicated replicas 2 tolerate 60 priority 0
binding app80 on m7,m4 may any duplicated replicas 4 tolerate 60 priority 0
binding app81 on m1,m7 may m1,m7 duplicated replicas 1 tolerate -1 priority 0
binding app82 on m4,m7 may any duplicated replicas 4 tolerate -1 priority 1 purge Directly
binding app83 on m5,m4 may any divided replicas 5 tolerate -1 priority 0
binding app84 on m1 may m1/m6,m3 divided replicas 5 tolerate -1 priority 2
binding app85 on m1,m5 may any divided replicas 3 tolerate -1 priority 3
binding app86 on m7 may m7/m2,m6 duplicated replicas 3 tolerate 300 priority 0
binding app87 on m1 may any duplicated replicas 5 tolerate -1 priority 0
binding app88 on m1 may m1,m3 divided replicas 5 tolerate -1 priority 0
binding app89 on m1 may m1,m4 duplicated replicas 4 tolerate -1 priority 0
binding app90 on m6 may m1,m6 divided replicas 3 tolerate 30 priority 0
binding app91 on m1 may any duplicated replicas 4 tolerate -1 priority 0
binding app92 on m6,m5 may any duplicated replicas 3 tolerate -1 priority 2
binding app93 on m1 may m1/m5,m7 duplicated replicas 3 tolerate -1 priority 1
binding app94 on m4 may m3,m4 divided replicas 4 tolerate 0 priority 0
binding app95 on m4 may m2,m4,m5,m7 divided replicas 5 tolerate -1 priority 2
binding app96 on m4 may any divided replicas 4 tolerate -1 priority 0
binding app97 on m1,m2 may m1,m2,m3 duplicated replicas 5 tolerate 60 priority 0
binding app98 on m1,m3 may m1,m3 divided replicas 3 tolerate -1 priority 0
binding app99 on m1,m6 may m1,m5,m6 divided replicas 5 tolerate 300 priority 1
binding app100 on m1,m4 may any duplicated replicas 2 tolerate 30 priority 0
binding app101 on m6 may m2,m6 divided replicas 1 tolerate 0 priority 0
binding app102 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app103 on m7,m2 may any divided replicas 2 tolerate -1 priority 0
binding app104 on m5,m2 may m1,m2,m3,m5 duplicated replicas 3 tolerate -1 priority 0
binding app105 on m1,m3 may m1,m3 duplicated replicas 2 tolerate -1 priority 0
binding app106 on m5,m2 may m5,m2/m6 divided replicas 2 tolerate -1 priority 0
binding app107 on m5,m1 may any duplicated replicas 3 tolerate -1 priority 0
binding app108 on m1,m6 may any divided replicas 2 tolerate -1 priority 0
binding app109 on m1,m4 may any duplicated replicas 5 tolerate -1 priority 0 purge Gracefully
binding app110 on m1 may m1 duplicated replicas 5 tolerate -1 priority 0 purge Gracefully
binding app111 on m1 may m1/m6 duplicated replicas 1 tolerate -1 priority 0 purge Directly
binding app112 on m5 may any divided replicas 1 tolerate -1 priority 0
binding app113 on m1 may any duplicated replicas 4 tolerate -1 priority 0 soft 120
binding app114 on m1,m6 may any duplicated replicas 5 tolerate -1 priority 0 soft 30
binding app115 on m2 may m2,m7 divided replicas 3 tolerate -1 priority 0
binding app116 on m6 may any duplicated replicas 0 tolerate -1 priority 0
binding app117 on m2 may any divided replicas 3 tolerate -1 priority 0
binding app118 on m1 may any divided replicas 5 tolerate -1 priority 2
binding app119 on m2,m5 may any duplicated replicas 1 tolerate -1 priority 0
binding app120 on m1,m7 may m1,m4,m7 divided replicas 2 tolerate -1 priority 0 soft 0
binding app121 on m2 may m2,m3,m4,m5 duplicated replicas 0 tolerate -1 priority 0
binding app122 on m1,m4 may m1,m4,m6,m7 duplicated replicas 3 tolerate -1 priority 0
binding app123 on m1 may m1,m7 duplicated replicas 1 tolerate -1 priority 1
binding app124 on m1 may m1/m3,m7 divided replicas 2 tolerate -1 priority 0
binding app125 on m7,m1 may m7,m1/m2 duplicated replicas 4 tolerate 300 priority 0
binding app126 on m1,m4 may m1,m2,m4,m5 divided replicas 3 tolerate -1 priority 0 soft 120
binding app127 on m1 may any divided replicas 1 tolerate -1 priority 0
binding app128 on m1 may m1/m5,m3 duplicated replicas 0 tolerate 60 priority 0
binding app129 on m4 may m4 duplicated replicas 0 tolerate 30 priority 0
binding app130 on m1 may any duplicated replicas 3 tolerate -1 priority 0
binding app131 on m1 may m1 duplicated replicas 2 tolerate -1 priority 0 soft 120
binding app132 on m1 may any divided replicas 5 tolerate -1 priority 0
binding app133 on m1 may m1/m7,m4 duplicated replicas 4 tolerate -1 priority 3
binding app134 on m1 may any duplicated replicas 2 tolerate -1 priority 0
binding app135 on m1,m3 may any duplicated replicas 5 tolerate -1 priority 0
binding app136 on m7 may any duplicated replicas 3 tolerate -1 priority 0
binding app137 on m1 may any divided replicas 5 tolerate -1 priority 0 purge Never
binding app138 on m1,m6 may m1,m6/m2 duplicated replicas 4 tolerate -1 priority 0 purge Never
binding app139 on m1 may any duplicated replicas 3 tolerate -1 priority 0 purge Gracefully
binding app140 on m4,m3 may m3,m4 duplicated replicas 3 tolerate -1 priority 0
binding app141 on m3,m6 may m3,m4,m5,m6,m7 divided replicas 2 tolerate -1 priority 0
binding app142 on m1,m5 may m1,m5/m7 duplicated replicas 4 tolerate -1 priority 0
binding app143 on m6,m1 may m6,m1/m4 duplicated replicas 0 tolerate -1 priority 0
binding app144 on m3,m6 may any divided replicas 2 tolerate -1 priority 0
binding app145 on m1 may any duplicated replicas 1 tolerate -1 priority 0
binding app146 on m1,m2 may m1,m2,m3,m4,m5 duplicated replicas 1 tolerate -1 priority 2
binding app147 on m4 may any duplicated replicas 3 tolerate -1 priority 0
binding app148 on m1,m6 may m1,m6/m7,m5,m6 duplicated replicas 1 tolerate -1 priority 0
binding app149 on m1 may any duplicated replicas 5 tolerate -1 priority 0 soft 0
binding app150 on m1,m6 may m1,m6/m4 duplicated replicas 5 tolerate -1 priority 3
binding app151 on m1 may any duplicated replicas 1 tolerate -1 priority 0
binding app152 on m5,m1 may m1,m4,m5 duplicated replicas 4 tolerate -1 priority 3 purge Never
binding app153 on m7 may m4,m5,m6,m7 divided replicas 4 tolerate 60 priority 0
binding app154 on m5,m6 may m5,m6 duplicated replicas 1 tolerate -1 priority 2
binding app155 on m4,m7 may any duplicated replicas 1 tolerate -1 priority 0 purge Never
binding app156 on m1 may m1/m3,m2,m1 duplicated replicas 2 tolerate -1 priority 0 soft 0
binding app157 on m1 may m1 divided replicas 5 tolerate -1 priority 0
binding app158 on m1,m7 may m1,m7/m4 divided replicas 5 tolerate 300 priority 0
binding app159 on m1,m3 may m1,m3,m5 duplicated replicas 3 tolerate -1 priority 3
binding app160 on m3,m1 may m1,m3,m7 duplicated replicas 2 tolerate 60 priority 2
binding app161 on m2,m1 may m2,m1 duplicated replicas 4 tolerate 60 priority 0
binding app162 on m5,m1 may m5,m1 divided replicas 2 tolerate -1 priority 0
binding app163 on m1,m6 may any duplicated replicas 0 tolerate -1 priority 1
binding app164 on m1,m5 may any divided replicas 4 tolerate -1 priority 1 soft 30
binding app165 on m1 may m1/m1,m5,m6 divided replicas 2 tolerate 300 priority 0
binding app166 on m1 may m1/m6,m5,m2 duplicated replicas 2 tolerate -1 priority 0
binding app167 on m1,m5 may m1,m5 divided replicas 2 tolerate -1 priority 0 purge Directly
binding app168 on m1,m3 may m1,m3/m5 duplicated replicas 4 tolerate -1 priority 0
binding app169 on m1,m2 may m1,m2/m3,m2,m1 duplicated replicas 0 tolerate 300 priority 0
binding app170 on m1 may m1 divided replicas 5 tolerate 60 priority 0 purge Gracefully
binding app171 on m1 may m1/m1,m4 duplicated replicas 3 tolerate -1 priority 0
binding app172 on m1 may any divided replicas 1 tolerate -1 priority 0
binding app173 on m1,m5 may m1,m5 divided replicas 3 tolerate -1 priority 0
binding app174 on m3 may any divided replicas 1 tolerate -1 priority 0
binding app175 on m1 may m1,m5,m6 duplicated replicas 5 tolerate -1 priority 0
binding app176 on m1,m2 may any divided replicas 2 tolerate -1 priority 0
binding app177 on m3 may m1,m3 divided replicas 1 tolerate 60 priority 0 purge Never
binding app178 on m1 may m1,m5,m6 divided replicas 4 tolerate -1 priority 2
binding app179 on m7,m1 may m7,m1/m1 duplicated replicas 5 tolerate 300 priority 0
binding app180 on m1,m3 may any divided replicas 3 tolerate -1 priority 0 soft 0
binding app181 on m4,m3 may any duplicated replicas 0 tolerate -1 priority 0
binding app182 on m6,m1 may m6,m1 duplicated replicas 1 tolerate -1 priority 0 purge Directly
binding app183 on m1 may any duplicated replicas 2 tolerate -1 priority 3 soft 30
binding app184 on m1 may m1 divided replicas 5 tolerate 300 priority 0
binding app185 on m1 may any duplicated replicas 5 tolerate -1 priority 0 purge Directly
binding app186 on m3,m1 may m3,m1/m4 divided replicas 2 tolerate -1 priority 0
binding app187 on m1 may m1,m4 divided replicas 1 tolerate 30 priority 2
binding app188 on m1 may m1,m2 divided replicas 2 tolerate 60 priority 1
binding app189 on m6 may m6 duplicated replicas 5 tolerate 30 priority 1 purge Directly
binding app190 on m1,m5 may m1,m5,m7 duplicated replicas 0 tolerate -1 priority 2 soft 30
binding app191 on m1 may any duplicated replicas 0 tolerate 30 priority 2
binding app192 on m1,m3 may m1,m3,m5,m6,m7 duplicated replicas 3 tolerate -1 priority 0
binding app193 on m1 may any divided replicas 3 tolerate -1 priority 1 soft 120
binding app194 on m1 may m1,m7 duplicated replicas 4 tolerate -1 priority 1
binding app195 on m1 may m1 duplicated replicas 1 tolerate 300 priority 0
binding app196 on m1,m6 may m1,m6 duplicated replicas 1 tolerate -1 priority 0 purge Never
binding app197 on m1,m5 may m1,m5,m6,m7 duplicated replicas 0 tolerate 300 priority 0
binding app198 on m1 may m1,m2 duplicated replicas 2 tolerate -1 priority 0
binding app199 on m2,m1 may any duplicated replicas 1 tolerate -1 priority 1 soft 30
binding app200 on m1,m2 may m1,m2,m7 duplicated replicas 4 tolerate -1 priority 0 purge Directly
binding app201 on m6,m1 may any divided replicas 4 tolerate -1 priority 0
binding app202 on m1,m7 may any divided replicas 5 tolerate -1 priority 2
binding app203 on m1 may m1/m2,m1,m6 divided replicas 4 tolerate 300 priority 0
binding app204 on m7,m1 may any divided replicas 3 tolerate -1 priority 0 soft 30
binding app205 on m1 may m1,m2,m5 divided replicas 4 tolerate -1 priority 0
binding app206 on m5,m1 may m1,m4,m5 duplicated replicas 2 tolerate -1 priority 0
binding app207 on m1,m2 may m1,m2 duplicated replicas 4 tolerate -1 priority 0
binding app208 on m1,m2 may m1,m2,m5,m7 duplicated replicas 3 tolerate -1 priority 0
binding app209 on m2,m1 may m1,m2,m3,m4 divided replicas 2 tolerate -1 priority 3
binding app210 on m3 may m1,m3,m5,m7 divided replicas 1 tolerate -1 priority 0
binding app211 on m5,m1 may m5,m1 duplicated replicas 3 tolerate -1 priority 0
binding app212 on m1,m7 may any duplicated replicas 0 tolerate -1 priority 0 purge Directly
binding app213 on m4 may m4,m6 divided replicas 3 tolerate -1 priority 0
binding app214 on m1 may any divided replicas 3 tolerate -1 priority 0
binding app215 on m4 may m4,m6 duplicated replicas 3 tolerate -1 priority 0 soft 30
binding app216 on m1 may m1/m5 duplicated replicas 2 tolerate -1 priority 0
binding app217 on m7,m3 may m3,m5,m7 duplicated replicas 2 tolerate -1 priority 0
binding app218 on m5 may m4,m5 duplicated replicas 3 tolerate 300 priority 0
binding app219 on m5,m6 may any duplicated replicas 3 tolerate -1 priority 0
binding app220 on m1,m7 may any duplicated replicas 5 tolerate 0 priority 0
binding app221 on m1 may m1 divided replicas 5 tolerate -1 priority 0 purge Gracefully
binding app222 on m1 may m1/m5,m4 divided replicas 2 tolerate -1 priority 0 purge Directly
binding app223 on m1 may m1 duplicated replicas 4 tolerate 0 priority 0
binding app224 on m1,m6 may any divided replicas 3 tolerate -1 priority 0
binding app225 on m3,m1 may any duplicated replicas 4 tolerate -1 priority 3 soft 30
binding app226 on m1 may any divided replicas 1 tolerate -1 priority 0
binding app227 on m1,m2 may m1,m2/m1 duplicated replicas 3 tolerate -1 priority 0
binding app228 on m7 may m7 duplicated replicas 2 tolerate -1 priority 2 purge Gracefully
binding app229 on m4,m1 may m4,m1 duplicated replicas 3 tolerate 0 priority 2
binding app230 on m1 may any duplicated replicas 1 tolerate -1 priority 0 purge Directly soft 120
at 9.35s down cluster m1
at 2m4.54s taint cluster m6
at 3m29.37s up cluster m1
at 3m49.32s down cluster m1
at 4m34.72s opt-in binding app93 n 3
at 5m19.45s down cluster m1
at 5m57.82s untaint cluster m6
at 10m5.16s up cluster m1
at 10m17.32s halt
at 12m12.58s go
at 12m41.78s up cluster m1
