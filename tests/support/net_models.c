/* net_models.c: small models with symbolic dims that several tests run; see net.h. */
#include "support/net.h"

Pb net_normalized(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "batch,seq,12");
    net_weight(&g, "w", "12,20");
    net_weight(&g, "b", "20");
    net_weight(&g, "scale", "20");
    net_weight(&g, "bias", "20");
    net_node(&g, "MatMul", "x,w", "xw", "");
    net_node(&g, "Add", "xw,b", "xwb", "");
    net_node(&g, "Softmax", "xwb", "soft", "axis=-1");
    net_node(&g, "Softmax", "xwb", "over_seq", "axis=1");
    net_node(&g, "Add", "soft,over_seq", "sum", "");
    net_node(&g, "LayerNormalization", "sum,scale,bias", "y", "axis=-1");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "batch,seq,20");
    return pb_model(&g);
}

Pb net_attention(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "q", DT_F32, "batch,seq,16");
    net_io(&g, GRAPH_INPUT, "k", DT_F32, "batch,seq,16");
    net_io(&g, GRAPH_INPUT, "v", DT_F32, "batch,seq,16");
    net_node(&g, "Transpose", "k", "kt", "perm=[0,2,1]");
    net_node(&g, "MatMul", "q,kt", "scores", "");
    net_node(&g, "Softmax", "scores", "p", "axis=-1");
    net_node(&g, "MatMul", "p,v", "y", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "batch,seq,16");
    return pb_model(&g);
}

Pb net_pooled(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "1,3,h,w");
    net_weight(&g, "k", "4,3,3,3");
    net_weight(&g, "b", "4");
    net_weight(&g, "k2", "4,4,1,1");
    net_node(&g, "Conv", "x,k,b", "c", "pads=[2,2,2,2]");
    net_node(&g, "Relu", "c", "r", "");
    net_node(&g, "MaxPool", "r", "p", "kernel_shape=[2,2] strides=[2,2]");
    net_node(&g, "Conv", "p,k2", "y", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "1,4,h2,w2");
    return pb_model(&g);
}

Pb net_reshaped(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "batch,seq,6");
    net_weight(&g, "w", "3,5");
    net_ints(&g, "shape", "-1,3");
    net_node(&g, "Reshape", "x,shape", "rows", "");
    net_node(&g, "MatMul", "rows,w", "y", "");
    net_node(&g, "Relu", "rows", "z", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "n,5");
    net_io(&g, GRAPH_OUTPUT, "z", DT_F32, "n,3");
    return pb_model(&g);
}

Pb net_joined(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "a", DT_F32, "n,4");
    net_io(&g, GRAPH_INPUT, "b", DT_F32, "m,4");
    net_weight(&g, "w", "4,4");
    net_node(&g, "MatMul", "a,w", "aw", "");
    net_node(&g, "Concat", "aw,b,a", "all", "axis=0");
    net_node(&g, "Exp", "all", "y", "");
    net_node(&g, "ReduceSum", "y", "total", "keepdims=0");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "k,4");
    net_io(&g, GRAPH_OUTPUT, "total", DT_F32, "");
    return pb_model(&g);
}

Pb net_sliced(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "n,m");
    net_ints(&g, "one", "1");
    net_ints(&g, "last", "-1");
    net_ints(&g, "most", "9223372036854775807");
    net_ints(&g, "least", "-9223372036854775807");
    net_ints(&g, "axis0", "0");
    net_ints(&g, "axis1", "1");
    net_ints(&g, "two", "2");
    net_node(&g, "Slice", "x,one,most,axis0,two", "odd", "");
    net_node(&g, "Slice", "odd,last,least,axis1,last", "back", "");
    net_node(&g, "Slice", "x,one,last,axis1", "inner", "");
    net_node(&g, "Neg", "back", "y", "");
    net_node(&g, "Tanh", "inner", "z", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "p,q");
    net_io(&g, GRAPH_OUTPUT, "z", DT_F32, "r,s");
    return pb_model(&g);
}

Pb net_small(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "batch,seq,8");
    net_weight(&g, "w", "8,8");
    net_weight(&g, "b", "8");
    net_weight(&g, "v", "16,3");
    net_ints(&g, "flat", "-1,16");
    net_node(&g, "MatMul", "x,w", "xw", "");
    net_node(&g, "Add", "xw,b", "xwb", "");
    net_node(&g, "Softmax", "xwb", "soft", "axis=-1");
    net_node(&g, "Mul", "soft,x", "gated", "");
    net_node(&g, "Concat", "gated,x", "both", "axis=2");
    net_node(&g, "Reshape", "both,flat", "rows", "");
    net_node(&g, "MatMul", "rows,v", "rv", "");
    net_node(&g, "Relu", "rv", "y", "");
    net_node(&g, "ReduceMean", "both", "mean", "axes=[1] keepdims=0");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "rows,3");
    net_io(&g, GRAPH_OUTPUT, "mean", DT_F32, "batch,16");
    return pb_model(&g);
}

Pb net_upscaled(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "1,3,h,w");
    net_weight(&g, "k1", "11,3,5,5");
    net_weight(&g, "b1", "11");
    net_weight(&g, "k2", "8,11,3,3");
    net_node(&g, "Conv", "x,k1,b1", "c1", "pads=[2,2,2,2]");
    net_node(&g, "Tanh", "c1", "t1", "");
    net_node(&g, "Conv", "t1,k2", "c2", "pads=[1,1,1,1]");
    net_node(&g, "DepthToSpace", "c2", "up", "blocksize=2");
    net_node(&g, "Sigmoid", "up", "y", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "1,2,h2,w2");
    return pb_model(&g);
}

Pb net_mobile(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "1,3,h,w");
    net_weight(&g, "k1", "13,3,3,3");
    net_weight(&g, "dw", "13,1,3,3");
    net_weight(&g, "db", "13");
    net_weight(&g, "pw", "13,13,1,1");
    net_weight(&g, "fc", "13,5");
    net_weight(&g, "fb", "5");
    net_node(&g, "Conv", "x,k1", "c1", "pads=[1,1,1,1] strides=[2,2]");
    net_node(&g, "Relu", "c1", "r1", "");
    net_node(&g, "Conv", "r1,dw,db", "d", "pads=[1,1,1,1] group=13");
    net_node(&g, "Relu", "d", "r2", "");
    net_node(&g, "Conv", "r2,pw", "p", "");
    net_node(&g, "Add", "p,r1", "res", "");
    net_node(&g, "GlobalAveragePool", "res", "gap", "");
    net_node(&g, "Flatten", "gap", "flat", "");
    net_node(&g, "Gemm", "flat,fc,fb", "y", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "1,5");
    return pb_model(&g);
}
