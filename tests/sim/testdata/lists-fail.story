# Six answers to the calls that list the affected set were lost, with 30 s each: it was known after three minutes.
seed 316582 mode enforce fleet 3 rate 1 quiet 6m13.18s
time healthy 4m0s
time schedule 5s
time takes 100ms
odds answer-lost 166
binding app74 on m1,m3 may m1,m2,m3 duplicated replicas 2 tolerate -1 priority 0 soft 0
binding app75 on m3 may m2,m3 duplicated replicas 0 tolerate -1 priority 0
binding app76 on m1 may any duplicated replicas 3 tolerate 60 priority 0
binding app77 on m1,m3 may m1,m3/m3,m1,m2 divided replicas 2 tolerate -1 priority 0
binding app78 on m2,m3 may m1,m2,m3 duplicated replicas 5 tolerate -1 priority 0
binding app79 on m1 may m1 duplicated replicas 5 tolerate -1 priority 0 soft 120
binding app80 on m1 may m1,m2 duplicated replicas 3 tolerate -1 priority 0
binding app81 on m1 may m1 duplicated replicas 4 tolerate -1 priority 1
binding app82 on m1,m2 may m1,m2/m3 divided replicas 2 tolerate -1 priority 0
binding app83 on m1 may m1/m2 duplicated replicas 3 tolerate -1 priority 0
binding app84 on m1 may m1,m3 divided replicas 5 tolerate -1 priority 0 soft 120
binding app85 on m2,m1 may m2,m1 duplicated replicas 0 tolerate -1 priority 0
binding app86 on m1,m3 may m1,m3 duplicated replicas 0 tolerate -1 priority 0
binding app87 on m1,m2 may m1,m2 divided replicas 4 tolerate -1 priority 0 soft 30
binding app88 on m1,m3 may m1,m3 duplicated replicas 3 tolerate -1 priority 0
binding app89 on m1 may m1,m2,m3 duplicated replicas 3 tolerate -1 priority 0 soft 30
binding app90 on m1,m2 may m1,m2/m3,m1 duplicated replicas 4 tolerate -1 priority 0
binding app91 on m2,m1 may m1,m2 divided replicas 3 tolerate -1 priority 0
binding app95 on m1 may any divided replicas 2 tolerate 300 priority 0
binding app96 on m1 may m1,m3 duplicated replicas 3 tolerate 300 priority 0
binding app97 on m3,m1 may m1,m2,m3 duplicated replicas 4 tolerate -1 priority 0 purge Gracefully
binding app98 on m1 may any duplicated replicas 2 tolerate -1 priority 1
binding app99 on m1 may m1 duplicated replicas 3 tolerate -1 priority 0
binding app100 on m1 may m1,m3 duplicated replicas 0 tolerate -1 priority 0
binding app101 on m2,m1 may m2,m1 duplicated replicas 4 tolerate -1 priority 3
binding app102 on m1,m2 may m1,m2 duplicated replicas 0 tolerate 30 priority 0
binding app103 on m1 may m1/m1,m2,m3 duplicated replicas 1 tolerate 300 priority 0
binding app104 on m1 may any divided replicas 4 tolerate 60 priority 0
binding app105 on m1 may m1 divided replicas 2 tolerate -1 priority 0
binding app106 on m1,m3 may m1,m3/m1,m3 duplicated replicas 2 tolerate 0 priority 0
binding app109 on m1,m2 may m1,m2 duplicated replicas 4 tolerate -1 priority 0 soft 0
binding app110 on m2,m3 may any divided replicas 5 tolerate -1 priority 0
binding app111 on m1,m2 may m1,m2 duplicated replicas 1 tolerate -1 priority 1 purge Never
binding app112 on m1 may m1 duplicated replicas 4 tolerate -1 priority 0
binding app141 on m1,m2 may m1,m2/m3 duplicated replicas 3 tolerate 30 priority 2
binding app143 on m1,m3 may any divided replicas 5 tolerate 300 priority 0 purge Never
binding app144 on m2,m1 may m1,m2,m3 duplicated replicas 0 tolerate -1 priority 0
binding app145 on m1 may m1 divided replicas 4 tolerate -1 priority 0 soft 120
binding app146 on m3,m1 may any divided replicas 2 tolerate -1 priority 0
binding app147 on m1,m2 may m1,m2 duplicated replicas 1 tolerate -1 priority 3
binding app148 on m1,m3 may any duplicated replicas 4 tolerate -1 priority 0
binding app150 on m3,m1 may m3,m1/m3,m1,m2 divided replicas 2 tolerate -1 priority 0
binding app151 on m2,m1 may m2,m1 divided replicas 2 tolerate -1 priority 0 purge Directly
binding app152 on m1 may any divided replicas 2 tolerate -1 priority 0
binding app153 on m1 may m1,m3 divided replicas 4 tolerate -1 priority 0 soft 120
binding app154 on m1,m3 may any duplicated replicas 0 tolerate -1 priority 0 purge Directly
binding app155 on m1 may any divided replicas 2 tolerate 30 priority 2 soft 0
binding app156 on m1 may m1 duplicated replicas 0 tolerate -1 priority 0
binding app157 on m1 may m1 duplicated replicas 0 tolerate -1 priority 0
binding app158 on m1,m2 may any duplicated replicas 2 tolerate 0 priority 0
binding app159 on m1 may m1/m1 duplicated replicas 2 tolerate -1 priority 0
binding app160 on m1,m3 may m1,m2,m3 duplicated replicas 1 tolerate -1 priority 0
binding app161 on m1 may m1 divided replicas 3 tolerate -1 priority 0
binding app163 on m1,m2 may m1,m2/m2 duplicated replicas 5 tolerate -1 priority 0
binding app164 on m1 may m1,m2,m3 divided replicas 2 tolerate -1 priority 0
binding app165 on m1 may m1 duplicated replicas 3 tolerate -1 priority 2
binding app166 on m3 may any divided replicas 5 tolerate -1 priority 1
binding app167 on m1 may m1/m3 divided replicas 4 tolerate 30 priority 0 soft 120
binding app168 on m1 may m1,m2,m3 duplicated replicas 0 tolerate -1 priority 0 purge Gracefully
binding app169 on m1,m3 may any duplicated replicas 2 tolerate -1 priority 0
binding app170 on m1,m3 may any duplicated replicas 2 tolerate -1 priority 1
binding app171 on m1 may any divided replicas 1 tolerate -1 priority 0
binding app172 on m1,m2 may any duplicated replicas 4 tolerate -1 priority 0
binding app173 on m1 may m1/m3 duplicated replicas 4 tolerate -1 priority 0
binding app174 on m2,m1 may m2,m1/m1 duplicated replicas 5 tolerate -1 priority 0
binding app175 on m1,m2 may any divided replicas 3 tolerate -1 priority 0 soft 0
binding app176 on m1,m2 may m1,m2 duplicated replicas 5 tolerate 0 priority 0
binding app177 on m1 may any duplicated replicas 0 tolerate -1 priority 3
binding app178 on m1,m3 may any divided replicas 3 tolerate 30 priority 0
binding app179 on m1,m3 may m1,m3/m3,m2,m1 divided replicas 2 tolerate -1 priority 0 soft 30
binding app180 on m1,m3 may any duplicated replicas 4 tolerate -1 priority 0
binding app181 on m1,m3 may any divided replicas 2 tolerate -1 priority 2
binding app182 on m1,m3 may any duplicated replicas 5 tolerate -1 priority 0
binding app183 on m1,m2 may m1,m2,m3 duplicated replicas 2 tolerate -1 priority 0
binding app185 on m2,m1 may any duplicated replicas 0 tolerate -1 priority 0 purge Directly
binding app186 on m1,m2 may m1,m2 duplicated replicas 2 tolerate -1 priority 0
binding app187 on m2,m1 may m2,m1 divided replicas 2 tolerate -1 priority 0
binding app188 on m1,m2 may any duplicated replicas 0 tolerate -1 priority 0
binding app190 on m1,m3 may m1,m3 divided replicas 3 tolerate -1 priority 0
binding app191 on m1 may m1,m3 divided replicas 2 tolerate -1 priority 0 soft 120
binding app192 on m1,m2 may any divided replicas 3 tolerate -1 priority 1
binding app193 on m1 may any divided replicas 1 tolerate -1 priority 0
binding app194 on m1 may any divided replicas 3 tolerate -1 priority 0 purge Never
binding app195 on m1,m2 may m1,m2 divided replicas 3 tolerate -1 priority 0
binding app196 on m1 may m1,m2,m3 duplicated replicas 3 tolerate -1 priority 3 purge Never
binding app197 on m1,m2 may m1,m2 divided replicas 5 tolerate -1 priority 0
binding app198 on m1,m3 may any divided replicas 3 tolerate -1 priority 0 purge Directly
binding app199 on m1,m3 may m1,m2,m3 divided replicas 4 tolerate -1 priority 0
binding app200 on m3,m2 may m2,m3 divided replicas 4 tolerate -1 priority 0
binding app201 on m1 may m1 divided replicas 2 tolerate 60 priority 3 soft 30
binding app202 on m1,m3 may any duplicated replicas 2 tolerate -1 priority 3
binding app203 on m1 may m1,m2 duplicated replicas 1 tolerate -1 priority 0
binding app204 on m1 may any divided replicas 3 tolerate 30 priority 0
binding app205 on m1 may any duplicated replicas 1 tolerate -1 priority 0
binding app206 on m1 may m1,m3 duplicated replicas 0 tolerate -1 priority 0
binding app207 on m1 may any divided replicas 3 tolerate -1 priority 0
binding app208 on m1,m3 may any divided replicas 2 tolerate -1 priority 0
binding app209 on m3 may any duplicated replicas 1 tolerate -1 priority 0
binding app210 on m1 may m1/m3,m1 duplicated replicas 2 tolerate -1 priority 0
binding app211 on m2,m1 may m2,m1 divided replicas 5 tolerate -1 priority 0
binding app212 on m1 may any divided replicas 3 tolerate 0 priority 2
binding app213 on m1 may m1,m3 duplicated replicas 2 tolerate -1 priority 0
binding app214 on m2,m1 may any duplicated replicas 0 tolerate 300 priority 0
binding app215 on m1,m2 may m1,m2 duplicated replicas 4 tolerate -1 priority 0
binding app216 on m1,m2 may any divided replicas 2 tolerate -1 priority 0 purge Gracefully soft 30
binding app217 on m2,m3 may any duplicated replicas 2 tolerate -1 priority 0 soft 30
binding app218 on m1 may m1,m2,m3 duplicated replicas 3 tolerate 60 priority 0
binding app219 on m1,m2 may any divided replicas 4 tolerate 300 priority 0
binding app220 on m1,m2 may m1,m2 duplicated replicas 5 tolerate -1 priority 1
binding app221 on m1 may m1,m3 divided replicas 5 tolerate -1 priority 0
binding app222 on m1,m3 may any duplicated replicas 3 tolerate -1 priority 0
binding app223 on m2,m3 may any duplicated replicas 5 tolerate -1 priority 0
binding app224 on m1 may any duplicated replicas 1 tolerate -1 priority 0
at 19.35s taint cluster m1
at 1m24.64s down cluster m3
at 3m31.14s untaint cluster m1
